#include "run/folder_roster.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "run/whereabouts.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds pause = 1'000'000;
constexpr const char* failure = "failed.json";

std::string card_name(std::uint32_t seat) { return fmt::format("card-{}.json", seat); }

} // namespace

Result<std::string> FolderRoster::await(const std::string& name) {
  Disk& disk = host_.disk();
  while (!disk.exists(at(name))) {
    if (disk.exists(at(failure))) {
      DLHOST_ASSIGN(const auto text, disk.read_text(at(failure)));
      const auto said = nlohmann::json::parse(text, nullptr, false);
      if (said.is_discarded()) return Status::corrupt(at(failure), " is damaged");
      return Status(static_cast<Code>(said.value("code", static_cast<int>(Code::internal))), said.value("message", ""));
    }
    DLHOST_TRY(look_());
    host_.clock().sleep(pause);
  }
  return disk.read_text(at(name));
}

Status FolderRoster::put(std::uint32_t seat, Card card) {
  const nlohmann::json text{
      {"address", card.address}, {"own", card.own}, {"masters", card.masters}, {"formats", card.formats}};
  return host_.disk().write_text(at(card_name(seat)), text.dump());
}

Result<Card> FolderRoster::card(std::uint32_t seat) {
  DLHOST_ASSIGN(const auto text, await(card_name(seat)));
  try {
    const auto card = nlohmann::json::parse(text);
    return Card{.address = card.at("address"),
                .own = card.at("own"),
                .masters = card.at("masters"),
                .formats = card.at("formats").get<std::map<std::string, std::string>>()};
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(at(card_name(seat)), " is damaged: ", error.what());
  }
}

Status FolderRoster::begin(const param::Beginning& beginning) {
  nlohmann::json text{{"version", beginning.version},     {"others", beginning.others},
                      {"steps", beginning.steps},         {"origins", nlohmann::json::array()},
                      {"ledger", beginning.ledger},       {"own_values", beginning.own_values},
                      {"slices", slices_state(beginning)}};
  for (const auto& origin : beginning.origins) text["origins"].push_back({origin.step, origin.epoch, origin.index});
  return host_.disk().write_text(at("begin.json"), text.dump());
}

Result<param::Beginning> FolderRoster::begun() {
  DLHOST_ASSIGN(const auto text, await("begin.json"));
  try {
    const auto said = nlohmann::json::parse(text);
    param::Beginning beginning{.version = said.at("version"),
                               .slices = slices_of(said.at("slices")),
                               .others = said.at("others").get<std::vector<Version>>(),
                               .steps = said.at("steps").get<std::vector<std::uint64_t>>(),
                               .origins = {},
                               .ledger = said.at("ledger"),
                               .own_values = said.at("own_values")};
    for (const auto& origin : said.at("origins"))
      beginning.origins.push_back({origin.at(0), origin.at(1), origin.at(2)});
    return beginning;
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(at("begin.json"), " is damaged: ", error.what());
  }
}

Status FolderRoster::meet(std::uint32_t seat) {
  const auto name = [&](std::uint32_t who) { return fmt::format("met-{}-{}", who, met_[seat]); };
  DLHOST_TRY(host_.disk().write_text(at(name(seat)), "here\n"));
  for (std::uint32_t other = 0; other < seats_; ++other) DLHOST_TRY(await(name(other)).status());
  ++met_[seat];
  return {};
}

void FolderRoster::fail(const Status& status) {
  if (host_.disk().exists(at(failure))) return;
  const nlohmann::json text{{"code", static_cast<int>(status.code())}, {"message", status.message()}};
  host_.disk()
      .write_text(at(failure), text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .ignore("whoever waits notices that this one is gone");
}

} // namespace dlhost::run
