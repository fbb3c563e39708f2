#include "run/recovery/resume_position.h"

#include <nlohmann/json.hpp>

namespace dlhost::run {

nlohmann::json slices_state(const param::StartPoint& reached) {
  nlohmann::json state = nlohmann::json::array();
  for (const auto& slice : reached.slices) state.push_back({slice.version, slice.steps, slice.others});
  return state;
}

std::vector<param::StartPoint::OfSlice> slices_of(const nlohmann::json& state) {
  std::vector<param::StartPoint::OfSlice> slices;
  for (const auto& slice : state)
    slices.push_back({slice.at(0).get<Version>(), slice.at(1).get<std::vector<std::uint64_t>>(),
                      slice.at(2).get<std::vector<Version>>()});
  return slices;
}

nlohmann::json workers_state(const config::Job& job, const param::StartPoint& reached) {
  return {{"consistency", job.topology.consistency.type},
          {"version", reached.version},
          {"others", reached.others},
          {"steps", reached.steps},
          {"own_values", reached.own_values},
          {"slices", slices_state(reached)}};
}

nlohmann::json ledgers_state(const record::LedgerHeads& heads) {
  return heads.run.empty() ? nlohmann::json() : nlohmann::json(record::json_of(heads));
}

Result<record::LedgerHeads> ledgers_of(const nlohmann::json& training) {
  const auto found = training.find("ledgers");
  if (found == training.end() || found->is_null()) return record::LedgerHeads();
  return record::ledger_heads(*found);
}

nlohmann::json moved(nlohmann::json training, const config::Job& job, const Feeds& feeds,
                     const param::StartPoint& reached, const record::LedgerHeads& heads) {
  const std::uint64_t step = reached.of_group(0, static_cast<std::size_t>(job.topology.workers_per_group));
  auto items = training.at("items").get<std::int64_t>();
  auto at = training.at("step").get<std::uint64_t>();
  for (; at < step; ++at) items += feeds.valid(at);
  for (; at > step; --at) items -= feeds.valid(at - 1);
  training["step"] = step;
  training["items"] = items;
  training["epoch"] = feeds.epochs(step);
  training["data"] = feeds.state(step);
  training["workers"] = workers_state(job, reached);
  auto ledgers = ledgers_of(training);
  if (ledgers.ok()) {
    ledgers->add(heads);
    training["ledgers"] = ledgers_state(*ledgers);
  }
  return training;
}

} // namespace dlhost::run
