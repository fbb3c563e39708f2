#include "record/workers_log.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "record/tail.h"

namespace dlhost::record {
namespace {

using Json = nlohmann::ordered_json;
constexpr Nanoseconds second = 1'000'000'000;

std::string path_in(const std::string& run) { return run + "/workers.jsonl"; }

} // namespace

Result<std::unique_ptr<WorkersLog>> WorkersLog::open(Host& host, const RunFolder& folder) {
  DLHOST_ASSIGN(auto lines, host.disk().open_log(path_in(folder.path())));
  return std::unique_ptr<WorkersLog>(new WorkersLog(host.clock(), std::move(lines)));
}

bool WorkersLog::due() {
  const Nanoseconds now = clock_.now();
  if (now < next_) return false;
  next_ = now + second;
  return true;
}

Status WorkersLog::add(std::uint64_t step, std::vector<WorkerReport> workers) {
  Json line{{"seconds", static_cast<double>(clock_.now()) / second}, {"step", step}, {"workers", Json::array()}};
  for (const auto& worker : workers)
    line["workers"].push_back({{"steps", worker.steps}, {"waited", worker.waited}, {"awaits", worker.awaits}});
  return lines_->append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::vector<WorkersReport> WorkersLog::newest(Disk& disk, const std::string& run) {
  std::vector<WorkersReport> reports;
  for (const auto& line : last_lines(disk, path_in(run))) {
    try {
      const Json json = Json::parse(line);
      WorkersReport report{.seconds = json.at("seconds"), .step = json.at("step"), .workers = {}};
      for (const auto& worker : json.at("workers"))
        report.workers.push_back(
            {.steps = worker.at("steps"), .waited = worker.at("waited"), .awaits = worker.at("awaits")});
      reports.push_back(std::move(report));
    } catch (const Json::exception&) {
      continue; // of another version
    }
    if (reports.size() == 2) break;
  }
  std::ranges::reverse(reports);
  return reports;
}

} // namespace dlhost::record
