// Writes predictions to a file: rows for people and spreadsheets (.csv), lines for programs (.jsonl), an array (.npy).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/tensor.h>

namespace dlhost::cli {

class Predictions {
 public:
  struct Names {
    std::vector<std::string> classes;                     // empty: classes are numbers
    std::function<std::string(std::int64_t)> sample = {}; // null: samples are numbers
  };

  enum class Format : std::uint8_t { csv, jsonl, npy };
  // By the file name's ending.
  static Result<Format> format_of(const std::string& path);

  // `of_classes`: the values are class probabilities.
  Predictions(Format format, const Shape& sample, bool of_classes, Names names);
  // Adds the values of further samples, in order.
  void add(std::span<const float> values);
  Status write(Disk&, const std::string& path) const;

 private:
  std::string header() const;
  std::string csv_row(std::span<const float> values) const;
  std::string json_line(std::span<const float> values) const;
  std::string class_name(std::size_t number) const;

  Format format_;
  Shape sample_;
  bool of_classes_;
  Names names_;
  std::int64_t rows_ = 0;
  std::string text_;
  std::vector<float> values_; // for .npy
};

} // namespace dlhost::cli
