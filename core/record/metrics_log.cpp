#include "record/metrics_log.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"

namespace dlhost::record {

namespace {

// Ends a line that a crash tore, so that the next record starts on its own line.
Status close_torn_line(Disk& disk, const std::string& path, LogFile& lines) {
  DLHOST_ASSIGN(const auto file, disk.open(path));
  const std::uint64_t size = file->size();
  std::byte last{};
  if (size == 0) return {};
  DLHOST_TRY(file->read_at(size - 1, {&last, 1}));
  return last == std::byte{'\n'} ? Status() : lines.append("\n");
}

void append_number(std::string& text, double number) {
  if (!std::isfinite(number))
    text += "null";
  else
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), number);
}

} // namespace

MetricsLog::MetricsLog(PatientLog lines, std::unique_ptr<Tensorboard> events)
    : lines_(std::move(lines)), events_(std::move(events)) {
  constexpr std::size_t usual_line = 1024;
  line_.reserve(usual_line);
}

Result<std::unique_ptr<MetricsLog>> MetricsLog::open(Host& host, const RunFolder& folder,
                                                     const MetricsLogOptions& options) {
  const std::string path = folder.file("metrics.jsonl");
  DLHOST_ASSIGN(auto lines, host.disk().open_log(path));
  DLHOST_TRY(close_torn_line(host.disk(), path, *lines));
  std::unique_ptr<Tensorboard> events;
  if (options.tensorboard) {
    DLHOST_ASSIGN(events, Tensorboard::open(host, folder.path(), options.resumed ? options.resumed_from : 0));
  }
  auto log = std::unique_ptr<MetricsLog>(new MetricsLog(PatientLog(std::move(lines), host), std::move(events)));
  if (options.resumed) {
    log->line_ = fmt::format(R"({{"step":{0},"phase":"resumed","resumed_from":{0}}})", options.resumed_from);
    log->line_ += '\n';
    DLHOST_TRY(log->lines_.append(log->line_));
  }
  return log;
}

Status MetricsLog::train(const StepReport& report) {
  line_.clear();
  fmt::format_to(std::back_inserter(line_), FMT_COMPILE(R"({{"step":{})"), report.step);
  add_number("epoch", report.epoch);
  add_number("seconds", report.seconds);
  line_ += R"(,"phase":"train")";
  add_number("rate", report.rate);
  add_metrics(report.metrics);
  add_number("items_per_second", report.items_per_second);
  DLHOST_TRY(finish_line());
  if (!events_) return {};
  for (const auto& [name, value] : report.metrics) events_->add("train", name, value);
  events_->add("", "rate", report.rate);
  events_->add("", "items_per_second", report.items_per_second);
  return write_events(report.step);
}

Status MetricsLog::evaluation(const EvaluationReport& report) {
  line_.clear();
  fmt::format_to(std::back_inserter(line_), FMT_COMPILE(R"({{"step":{})"), report.step);
  add_number("epoch", report.epoch);
  add_number("seconds", report.seconds);
  fmt::format_to(std::back_inserter(line_), FMT_COMPILE(R"(,"phase":"{}")"), report.phase);
  add_metrics(report.metrics);
  add_number("items_per_second", report.items_per_second);
  DLHOST_TRY(finish_line());
  if (!events_) return {};
  for (const auto& [name, value] : report.metrics) events_->add(report.phase, name, value);
  for (const auto& table : report.tables) events_->add_text(report.phase, table.name, table_markdown(table));
  return write_events(report.step);
}

// A full disk is no error here: metrics.jsonl has the records.
Status MetricsLog::write_events(std::uint64_t step) {
  Status status = events_->write(step);
  return status.code() == Code::no_space ? Status() : status;
}

Status MetricsLog::sync() { return lines_.sync(); }

const std::string& MetricsLog::quoted(const std::string& name) {
  const auto known = std::ranges::find(keys_, name, &Key::name);
  if (known != keys_.end()) return known->quoted;
  using Json = nlohmann::json;
  return keys_.emplace_back(Key{name, env::json_text(Json(name))}).quoted;
}

void MetricsLog::add_number(std::string_view key, double number) {
  fmt::format_to(std::back_inserter(line_), FMT_COMPILE(R"(,"{}":)"), key);
  append_number(line_, number);
}

void MetricsLog::add_metrics(Metrics metrics) {
  line_ += R"(,"metrics":{)";
  for (const auto& [name, value] : metrics) {
    if (line_.back() != '{') line_ += ',';
    line_ += quoted(name);
    line_ += ':';
    append_number(line_, value);
  }
  line_ += '}';
}

Status MetricsLog::finish_line() {
  line_ += "}\n";
  return lines_.append(line_);
}

} // namespace dlhost::record
