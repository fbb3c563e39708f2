#include "run/membership/folder_roster.h"

#include <nlohmann/json.hpp>

#include "env/hex.h"
#include "env/json_text.h"
#include "record/json_fault.h"
#include "run/recovery/whereabouts.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds pause_at_roster = 1'000'000;
// Keys are bytes, which JSON has no words for.
std::vector<std::string> hex(const std::vector<std::string>& keys) {
  std::vector<std::string> texts;
  for (const auto& key : keys) texts.push_back(env::hex(key));
  return texts;
}

// What is no such text makes no key of anything.
std::string from_hex(const std::string& text) { return env::from_hex(text).value_or(""); }

std::vector<std::string> all_from_hex(const std::vector<std::string>& texts) {
  std::vector<std::string> keys;
  for (const auto& text : texts) keys.push_back(from_hex(text));
  return keys;
}

} // namespace

Result<std::string> FolderRoster::await(const std::string& name, const Meanwhile& meanwhile) {
  Disk& disk = host_.disk();
  while (!disk.exists(at(name))) {
    DLHOST_TRY(failure());
    DLHOST_TRY(look_());
    if (meanwhile) DLHOST_TRY(meanwhile());
    host_.clock().sleep(pause_at_roster);
  }
  return disk.read_text(at(name));
}

Status FolderRoster::put(std::uint32_t seat, Card card) {
  const nlohmann::json text{{"near", card.addresses.near},
                            {"far", card.addresses.far},
                            {"host", card.addresses.host_name},
                            {"own", card.own},
                            {"masters", card.masters},
                            {"far_own", env::hex(card.far_own)},
                            {"far_masters", hex(card.far_masters)},
                            {"mirrors", hex(card.mirrors)},
                            {"process", card.process},
                            {"bytes", card.bytes},
                            {"formats", card.formats},
                            {"convened", env::hex(card.convened)}};
  return host_.disk().write_text(at(card_name(seat)), env::json_text(text));
}

Result<Card> FolderRoster::card(std::uint32_t seat) {
  DLHOST_ASSIGN(const auto text, await(card_name(seat)));
  try {
    const auto card = env::parse_json(text);
    return Card{.addresses = {card.at("near"), card.at("far"), card.at("host")},
                .own = card.at("own"),
                .masters = card.at("masters"),
                .far_own = from_hex(card.at("far_own")),
                .far_masters = all_from_hex(card.at("far_masters").get<std::vector<std::string>>()),
                .process = card.at("process"),
                .bytes = card.at("bytes"),
                .mirrors = all_from_hex(card.at("mirrors").get<std::vector<std::string>>()),
                .formats = card.at("formats").get<std::map<std::string, std::string>>(),
                .convened = from_hex(card.at("convened"))};
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(at(card_name(seat)), " is damaged: ", record::json_fault(error));
  }
}

Status FolderRoster::begin(const param::Beginning& beginning) {
  nlohmann::json text{{"version", beginning.version},     {"others", beginning.others},
                      {"steps", beginning.steps},         {"origins", nlohmann::json::array()},
                      {"ledger", beginning.ledger},       {"own_values", beginning.own_values},
                      {"slices", slices_state(beginning)}};
  const record::LedgerOf& of = beginning.ledger_of;
  text["ledger_of"] = {of.run, of.arrangement, of.attempt};
  for (const auto& origin : beginning.origins) text["origins"].push_back({origin.step, origin.epoch, origin.index});
  return host_.disk().write_text(at(begin_name), env::json_text(text));
}

Result<param::Beginning> FolderRoster::begun() {
  DLHOST_ASSIGN(const auto text, await(begin_name));
  try {
    const auto said = env::parse_json(text);
    param::Beginning beginning{
        .version = said.at("version"),
        .slices = slices_of(said.at("slices")),
        .others = said.at("others").get<std::vector<Version>>(),
        .steps = said.at("steps").get<std::vector<std::uint64_t>>(),
        .origins = {},
        .ledger = said.at("ledger"),
        .ledger_of = {said.at("ledger_of").at(0), said.at("ledger_of").at(1), said.at("ledger_of").at(2)},
        .own_values = said.at("own_values")};
    for (const auto& origin : said.at("origins"))
      beginning.origins.push_back({origin.at(0), origin.at(1), origin.at(2)});
    return beginning;
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(at(begin_name), " is damaged: ", record::json_fault(error));
  }
}

Status FolderRoster::meet(std::uint32_t seat, const Meanwhile& meanwhile) {
  const auto name = [&](std::uint32_t who) { return met_name(who, met_[seat]); };
  DLHOST_TRY(host_.disk().write_text(at(name(seat)), "here\n"));
  for (std::uint32_t other = 0; other < seats(); ++other) DLHOST_TRY(await(name(other), meanwhile).status());
  ++met_[seat];
  return {};
}

Status FolderRoster::failure() { return MeetingFolder::failure(host_.disk(), folder_); }

void FolderRoster::fail(const Status& status) { MeetingFolder::fail(host_.disk(), folder_, status); }

} // namespace dlhost::run
