#include "record/curves.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/tail.h"

namespace dlhost::record {

namespace {

using Json = nlohmann::ordered_json; // keeps the order of a line's metrics

constexpr std::string_view vital_signs[] = {"rate", "items_per_second"};

std::optional<double> number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return {};
  return found->get<double>();
}

Curve& curve_of(Curves& curves, const std::string& metric, const std::string& phase) {
  for (Curve& curve : curves.curves)
    if (curve.metric == metric && curve.phase == phase) return curve;
  return curves.curves.emplace_back(Curve{metric, phase, {}});
}

// A resumed run repeats steps: their old points are removed.
void forget_after(Curves& curves, double step) {
  for (Curve& curve : curves.curves)
    std::erase_if(curve.points, [step](const CurvePoint& point) { return point.step > step; });
}

Status wrong(std::string_view why) {
  return Status::corrupt("this is not a record of a run (", why, "); is it the metrics.jsonl of a dlhost run?");
}

Status take(Curves& curves, const Json& record) {
  if (!record.is_object()) return wrong("not a JSON object");
  const auto phase = record.find("phase");
  if (phase == record.end() || !phase->is_string()) return wrong("it has no phase");
  if (*phase == "resumed") {
    const auto from = number_at(record, "resumed_from");
    if (!from) return wrong("it does not say from where it was resumed");
    forget_after(curves, *from);
    return {};
  }
  const auto step = number_at(record, "step"), epoch = number_at(record, "epoch"),
             seconds = number_at(record, "seconds");
  const auto metrics = record.find("metrics");
  if (!step || !epoch || !seconds) return wrong("step, epoch or seconds is missing");
  if (metrics == record.end() || !metrics->is_object()) return wrong("it has no metrics");
  CurvePoint point{*step, *epoch, *seconds, 0};
  const auto add = [&](const std::string& name, const Json& value) -> Status {
    if (!value.is_number() && !value.is_null()) return wrong(concat("its ", name, " is not a number"));
    point.value = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    curve_of(curves, name, phase->get<std::string>()).points.push_back(point);
    return {};
  };
  for (const auto& [name, value] : metrics->items()) DLHOST_TRY(add(name, value));
  if (*phase != "train") return {};
  for (const std::string_view name : vital_signs) {
    const auto value = record.find(std::string(name));
    if (value != record.end()) DLHOST_TRY(add(std::string(name), *value));
  }
  return {};
}

// The name of a run's folder: "digits-1" for "runs/digits-1/" and "runs/digits-1/metrics.jsonl".
std::string name_of_run(std::string path) {
  constexpr std::string_view usual = "/metrics.jsonl";
  if (path.ends_with(usual)) path.resize(path.size() - usual.size());
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

} // namespace

bool is_vital_sign(std::string_view metric) { return std::ranges::find(vital_signs, metric) != std::end(vital_signs); }

Result<Curves> parse_curves(std::string_view text, const std::string& path) {
  Curves curves{name_of_run(path), {}};
  std::optional<Status> torn; // a line that is no JSON: accepted as the last one of its session
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    const Json record = env::ordered_json_or_discarded(line);
    if (record.is_discarded()) {
      if (torn) return *torn;
      // A first line that does not start like a record was not torn: the file is no metrics.jsonl.
      torn = wrong("not JSON").at(path, ":", number);
      if (number == 1 && !line.starts_with("{\"")) return *torn;
      continue;
    }
    const bool resumed = record.is_object() && record.value("phase", Json()) == "resumed";
    if (torn && !resumed) return *torn;
    torn.reset();
    if (Status status = take(curves, record); !status.ok()) return std::move(status).at(path, ":", number);
  }
  return curves;
}

Result<Curves> read_curves(Disk& disk, const std::string& path) {
  if (!disk.exists(path))
    return Status::not_found("there is no run ", path, ": name a run's folder or its metrics.jsonl");
  const std::string inside = concat(path, "/metrics.jsonl");
  if (disk.exists(inside)) {
    DLHOST_ASSIGN(const std::string text, disk.read_text(inside));
    return parse_curves(text, inside);
  }
  if (disk.list(path).ok())
    return Status::not_found("the folder ", path,
                             " has no metrics.jsonl: it is not a run's, or nothing was measured yet");
  DLHOST_ASSIGN(const std::string text, disk.read_text(path));
  return parse_curves(text, path);
}

std::vector<std::pair<std::string, double>> recorded_at(const Curves& curves, std::string_view phase,
                                                        std::uint64_t step) {
  std::vector<std::pair<std::string, double>> metrics;
  for (const auto& [metric, of, points] : curves.curves)
    if (of == phase && !is_vital_sign(metric) && !points.empty() && points.back().step == static_cast<double>(step))
      metrics.emplace_back(metric, points.back().value);
  return metrics;
}

std::uint64_t last_step(Disk& disk, const std::string& folder) {
  for (const auto& line : last_lines(disk, concat(folder, "/metrics.jsonl"))) {
    const Json record = env::ordered_json_or_discarded(line);
    if (record.is_object() && record.contains("step") && record["step"].is_number_unsigned())
      return record["step"].get<std::uint64_t>();
  }
  return 0;
}

} // namespace dlhost::record
