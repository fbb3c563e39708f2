#include "run/membership/folder_address_book.h"

#include <nlohmann/json.hpp>

#include "env/hex.h"
#include "env/json_text.h"
#include "record/json_fault.h"
#include "run/membership/start_point_text.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds pause_at_address_book = 1'000'000;

std::string begin_name_of(std::uint32_t joins) {
  return joins == 0 ? FolderAddressBook::begin_name : concat("begin-", joins, ".json");
}

// Keys are bytes: JSON stores them as hexadecimal text.
std::vector<std::string> hex(const std::vector<std::string>& keys) {
  std::vector<std::string> texts;
  for (const auto& key : keys) texts.push_back(env::hex(key));
  return texts;
}

// Malformed text gives an empty key.
std::string from_hex(const std::string& text) { return env::from_hex(text).value_or(""); }

std::vector<std::string> all_from_hex(const std::vector<std::string>& texts) {
  std::vector<std::string> keys;
  for (const auto& text : texts) keys.push_back(from_hex(text));
  return keys;
}

} // namespace

FolderAddressBook::FolderAddressBook(Host& host, std::string folder, Posting posting, Setup setup)
    : host_(host), folder_(std::move(folder)), posting_(std::move(posting)), setup_(std::move(setup)),
      met_(posting_.machines.size()) {
  if (!setup_.joins) return;
  admissions_.emplace(host_, folder_,
                      FolderAdmissions::Setup{.number = *setup_.joins,
                                              .await = [this](const std::string& name) { return await(name); },
                                              .is_led = setup_.is_led,
                                              .follow = setup_.follow});
}

Result<std::string> FolderAddressBook::await(const std::string& name, const Meanwhile& meanwhile) {
  Disk& disk = host_.disk();
  while (!disk.exists(at(name))) {
    DLHOST_TRY(failure());
    DLHOST_TRY(setup_.look());
    if (meanwhile) DLHOST_TRY(meanwhile());
    host_.clock().sleep(pause_at_address_book);
  }
  return disk.read_text(at(name));
}

Status FolderAddressBook::put(std::uint32_t seat, Contact contact) {
  const nlohmann::json text{{"near", contact.addresses.near},
                            {"far", contact.addresses.far},
                            {"host", contact.addresses.host_name},
                            {"own", contact.own},
                            {"masters", contact.masters},
                            {"far_own", env::hex(contact.far_own)},
                            {"far_masters", hex(contact.far_masters)},
                            {"mirrors", hex(contact.mirrors)},
                            {"process", contact.process},
                            {"bytes", contact.bytes},
                            {"formats", contact.formats},
                            {"convened", env::hex(contact.convened)}};
  return host_.disk().write_text(at(contact_name(seat)), env::json_text(text));
}

Result<Contact> FolderAddressBook::contact(std::uint32_t seat) {
  DLHOST_ASSIGN(const auto text, await(contact_name(seat)));
  try {
    const auto contact = env::parse_json(text);
    return Contact{.addresses = {contact.at("near"), contact.at("far"), contact.at("host")},
                   .own = contact.at("own"),
                   .masters = contact.at("masters"),
                   .far_own = from_hex(contact.at("far_own")),
                   .far_masters = all_from_hex(contact.at("far_masters").get<std::vector<std::string>>()),
                   .process = contact.at("process"),
                   .bytes = contact.at("bytes"),
                   .mirrors = all_from_hex(contact.at("mirrors").get<std::vector<std::string>>()),
                   .formats = contact.at("formats").get<std::map<std::string, std::string>>(),
                   .convened = from_hex(contact.at("convened"))};
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(at(contact_name(seat)), " is damaged: ", record::json_fault(error));
  }
}

Status FolderAddressBook::begin(const param::StartPoint& beginning) {
  const std::uint32_t joins = beginning.joining ? beginning.joining->number : 0;
  return host_.disk().write_text(at(begin_name_of(joins)), env::json_text(json_of(beginning)));
}

Result<param::StartPoint> FolderAddressBook::begun() {
  const std::string name = begin_name_of(joins());
  DLHOST_ASSIGN(const auto text, await(name));
  try {
    return start_point_in(env::parse_json(text));
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(at(name), " is damaged: ", record::json_fault(error));
  }
}

Status FolderAddressBook::meet(std::uint32_t seat, const Meanwhile& meanwhile) {
  if (joins() > 0) return {}; // this process joins a running run, whose workers have met
  const auto name = [&](std::uint32_t who) { return met_name(who, met_[seat]); };
  DLHOST_TRY(host_.disk().write_text(at(name(seat)), "here\n"));
  for (std::uint32_t other = 0; other < workers(); ++other) DLHOST_TRY(await(name(other), meanwhile).status());
  ++met_[seat];
  return {};
}

Status FolderAddressBook::failure() { return MeetingFolder::failure(host_.disk(), folder_); }

void FolderAddressBook::fail(const Status& status) { MeetingFolder::fail(host_.disk(), folder_, status); }

} // namespace dlhost::run
