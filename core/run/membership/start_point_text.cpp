#include "run/membership/start_point_text.h"

#include <nlohmann/json.hpp>

#include "run/recovery/resume_position.h"

namespace dlhost::run {

nlohmann::json json_of(const param::StartPoint& point) {
  nlohmann::json text{{"version", point.version},           {"others", point.others}, {"steps", point.steps},
                      {"origins", nlohmann::json::array()}, {"ledger", point.ledger}, {"own_values", point.own_values},
                      {"slices", slices_state(point)}};
  const record::LedgerOf& of = point.ledger_of;
  text["ledger_of"] = {of.run, of.arrangement, of.attempt, of.numbers, of.job};
  for (const auto& origin : point.origins) text["origins"].push_back({origin.step, origin.epoch, origin.index});
  return text;
}

param::StartPoint start_point_in(const nlohmann::json& said) {
  param::StartPoint point{.version = said.at("version"),
                          .slices = slices_of(said.at("slices")),
                          .others = said.at("others").get<std::vector<Version>>(),
                          .steps = said.at("steps").get<std::vector<std::uint64_t>>(),
                          .origins = {},
                          .ledger = said.at("ledger"),
                          .ledger_of = {.run = said.at("ledger_of").at(0),
                                        .arrangement = said.at("ledger_of").at(1),
                                        .attempt = said.at("ledger_of").at(2),
                                        .numbers = said.at("ledger_of").at(3),
                                        .job = said.at("ledger_of").at(4)},
                          .own_values = said.at("own_values")};
  for (const auto& origin : said.at("origins")) point.origins.push_back({origin.at(0), origin.at(1), origin.at(2)});
  return point;
}

} // namespace dlhost::run
