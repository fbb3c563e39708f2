#include "tools/sweep/trials.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/json_fault.h"
#include "record/run_folder.h"
#include "record/summary.h"

namespace dlhost::tools {

namespace {

std::string plan_of(const std::string& folder) { return folder + "/sweep.json"; }

bool is_accuracy(std::string_view metric) { return metric.find("accuracy") != std::string_view::npos; }

// The curve by which trials are judged; null: none yet.
const record::Curve* judged(const record::Curves& curves, const std::string& metric) {
  for (const char* phase : {"validation", "test"}) {
    const record::Curve* found = nullptr;
    for (const auto& curve : curves.curves) {
      if (curve.phase != phase || curve.points.empty()) continue;
      if (metric.empty() ? !found || (is_accuracy(curve.metric) && !is_accuracy(found->metric))
                         : curve.metric == metric)
        found = &curve;
    }
    if (found) return found;
  }
  return nullptr;
}

} // namespace

Status keep(Disk& disk, const std::string& folder, const SweepAsked& asked) {
  const nlohmann::ordered_json text{{"job", asked.job},         {"set", asked.set},         {"metric", asked.metric},
                                    {"highest", asked.highest}, {"halving", asked.halving}, {"jobs", asked.jobs},
                                    {"trials", asked.trials}};
  return disk.write_text(plan_of(folder), env::json_text(text, 1) + "\n");
}

Result<SweepAsked> kept(Disk& disk, const std::string& folder) {
  if (!disk.exists(plan_of(folder)))
    return Status::not_found("there is no sweep in '", folder, "': it has no sweep.json");
  DLHOST_ASSIGN(const auto text, disk.read_text(plan_of(folder)));
  try {
    const auto said = env::parse_json(text);
    return SweepAsked{.job = said.at("job"),
                      .set = said.at("set"),
                      .trials = said.at("trials"),
                      .metric = said.at("metric"),
                      .highest = said.at("highest"),
                      .halving = said.at("halving"),
                      .jobs = said.at("jobs")};
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(plan_of(folder), ": ", record::json_fault(error));
  }
}

std::string trial_folder(const std::string& folder, std::size_t trial) {
  return fmt::format("{}/trial-{:03}", folder, trial + 1);
}

std::optional<record::CurvePoint> Score::best(std::size_t first) const {
  if (points.size() < first || first == 0) return {};
  std::optional<record::CurvePoint> found;
  for (std::size_t i = 0; i < first; ++i)
    if (std::isfinite(points[i].value) && (!found || better(points[i].value, found->value))) found = points[i];
  return found;
}

std::string run_of_trial(Disk& disk, const std::string& folder, std::size_t trial) {
  const auto run = record::RunFolder::newest(disk, trial_folder(folder, trial), "");
  return run.ok() ? *run : std::string();
}

std::optional<Score> score_of(Disk& disk, const std::string& folder, std::size_t trial, const SweepAsked& asked) {
  const std::string run = run_of_trial(disk, folder, trial);
  if (run.empty()) return {};
  const auto curves = record::read_curves(disk, run);
  if (!curves.ok()) return {};
  const auto* curve = judged(*curves, asked.metric);
  if (!curve) return {};
  return Score{.metric = curve->metric,
               .phase = curve->phase,
               .highest = asked.metric.empty() ? is_accuracy(curve->metric) : asked.highest,
               .points = curve->points};
}

std::string status_of_trial(Disk& disk, const std::string& folder, std::size_t trial) {
  const std::string run = run_of_trial(disk, folder, trial);
  return run.empty() ? std::string() : record::status_told(disk, run);
}

} // namespace dlhost::tools
