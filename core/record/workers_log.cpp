#include "record/workers_log.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/tail.h"

namespace dlhost::record {
namespace {

using Json = nlohmann::ordered_json;
constexpr Nanoseconds second = 1'000'000'000;

std::string path_in(const std::string& run) { return run + "/workers.jsonl"; }

} // namespace

Result<std::unique_ptr<WorkersLog>> WorkersLog::open(Host& host, const RunFolder& folder) {
  std::unique_ptr<WorkersLog> log(new WorkersLog(host, path_in(folder.path())));
  DLHOST_TRY(log->begin_anew());
  return log;
}

Status WorkersLog::begin_anew() {
  if (host_.disk().exists(path_)) DLHOST_TRY(host_.disk().remove(path_));
  DLHOST_ASSIGN(lines_, host_.disk().open_log(path_));
  bytes_ = 0;
  return {};
}

bool WorkersLog::due() {
  const Nanoseconds now = host_.clock().now();
  if (now < next_) return false;
  next_ = now + second;
  return true;
}

Status WorkersLog::add(std::uint64_t step, std::vector<WorkerReport> workers) {
  constexpr std::size_t long_enough = 4 << 20;
  if (bytes_ > long_enough) DLHOST_TRY(begin_anew());
  Json line{{"seconds", static_cast<double>(host_.clock().now()) / second}, {"step", step}, {"workers", Json::array()}};
  for (const auto& worker : workers) {
    line["workers"].push_back(json_of(worker));
    line["workers"].back()["awaits"] = worker.awaits;
    line["workers"].back()["at"] = worker.at;
    line["workers"].back()["stale"] = worker.stale;
    if (worker.made) line["workers"].back()["made"] = *worker.made;
  }
  const std::string text = env::json_text(line) + "\n";
  bytes_ += text.size();
  Status status = lines_->append(text);
  return status.code() == Code::no_space ? Status() : status; // the next line has the present state
}

std::vector<WorkersReport> WorkersLog::newest(Disk& disk, const std::string& run) {
  std::vector<WorkersReport> reports;
  for (const auto& line : last_lines(disk, path_in(run))) {
    try {
      const Json json = env::parse_json(line);
      WorkersReport report{.seconds = json.at("seconds"), .step = json.at("step"), .workers = {}};
      for (const auto& worker : json.at("workers"))
        report.workers.push_back(
            {.steps = worker.at("steps"),
             .seconds = worker.at("seconds"),
             .input = worker.at("input"),
             .params = worker.at("params"),
             .serving = worker.at("serving"),
             .waiting = worker.at("waiting"),
             .network = {.params = worker.at("network").at("params"),
                         .gradients = worker.at("network").at("gradients"),
                         .state = worker.at("network").at("state"),
                         .control = worker.at("network").at("control")},
             .each_step = std::nullopt, // not shown by a live view
             .awaits = worker.at("awaits"),
             .at = worker.at("at"),
             .stale = worker.at("stale"),
             .made = worker.contains("made") ? std::optional(worker.at("made").get<std::uint64_t>()) : std::nullopt});
      reports.push_back(std::move(report));
    } catch (const Json::exception&) {
      continue; // a line of another version
    }
    if (reports.size() == 2) break;
  }
  std::ranges::reverse(reports);
  return reports;
}

} // namespace dlhost::record
