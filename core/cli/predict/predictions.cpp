#include "cli/predict/predictions.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlhost/npy.h>

#include "cli/csv_field.h"
#include "env/json_text.h"

namespace dlhost::cli {

namespace {

std::size_t highest(std::span<const float> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

} // namespace

Result<Predictions::Format> Predictions::format_of(const std::string& path) {
  if (path.ends_with(".csv")) return Format::csv;
  if (path.ends_with(".jsonl")) return Format::jsonl;
  if (path.ends_with(".npy")) return Format::npy;
  return Status::invalid("-o ", path,
                         ": predictions are written as .csv, .jsonl or .npy (a layer is named by --layer)");
}

Predictions::Predictions(Format format, const Shape& sample, bool of_classes, Names names)
    : format_(format), sample_(sample), of_classes_(of_classes), names_(std::move(names)) {
  if (format_ == Format::csv) text_ = header();
}

std::string Predictions::class_name(std::size_t number) const {
  return number < names_.classes.size() ? names_.classes[number] : std::to_string(number);
}

std::string Predictions::header() const {
  std::string text = of_classes_ ? "sample,class" : "sample";
  for (std::size_t i = 0; i < static_cast<std::size_t>(sample_.count()); ++i)
    text += "," + (of_classes_ ? csv_field(class_name(i)) : std::to_string(i));
  return text + "\n";
}

std::string Predictions::csv_row(std::span<const float> values) const {
  std::string text = names_.sample ? csv_field(names_.sample(rows_)) : std::to_string(rows_);
  if (of_classes_) text += "," + csv_field(class_name(highest(values)));
  for (const float value : values) text += fmt::format(",{}", value);
  return text + "\n";
}

std::string Predictions::json_line(std::span<const float> values) const {
  nlohmann::ordered_json line;
  if (names_.sample)
    line["sample"] = names_.sample(rows_);
  else
    line["sample"] = rows_;
  if (!of_classes_) {
    line["values"] = std::vector(values.begin(), values.end());
    return env::json_text(line) + "\n";
  }
  line["class"] = class_name(highest(values));
  for (std::size_t i = 0; i < values.size(); ++i) line["probabilities"][class_name(i)] = values[i];
  return env::json_text(line) + "\n";
}

void Predictions::add(std::span<const float> values) {
  const auto width = static_cast<std::size_t>(sample_.count());
  for (std::size_t at = 0; at < values.size(); at += width, ++rows_) {
    const auto row = values.subspan(at, width);
    switch (format_) {
    case Format::csv: text_ += csv_row(row); break;
    case Format::jsonl: text_ += json_line(row); break;
    case Format::npy: values_.insert(values_.end(), row.begin(), row.end()); break;
    }
  }
}

Status Predictions::write(Disk& disk, const std::string& path) const {
  if (format_ != Format::npy) return disk.write_text(path, text_);
  std::vector<std::int64_t> shape{rows_};
  shape.insert(shape.end(), sample_.begin(), sample_.end());
  std::string bytes = npy_header(DType::f32, shape);
  bytes.append(reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(float));
  return disk.write_text(path, bytes);
}

} // namespace dlhost::cli
