#include "run/relay.h"

#include <nlohmann/json.hpp>

#include "run/folder_roster.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds pause = 1'000'000, patience = 100'000'000;

} // namespace

Status Relay::run() {
  Status status = all();
  return status.ok() ? status : fail(std::move(status));
}

Status Relay::all() {
  DLHOST_TRY(exchange("card", [](std::uint32_t seat) { return FolderRoster::card_name(seat); }));
  DLHOST_TRY(exchange("joined", [](std::uint32_t seat) { return FolderRoster::met_name(seat, 0); }));
  DLHOST_TRY(bring("begin", 0, FolderRoster::begin_name));
  return exchange("begun", [](std::uint32_t seat) { return FolderRoster::met_name(seat, 1); });
}

// In the order of the seats: whoever makes a card may need those before its own.
Status Relay::exchange(std::string_view what, const FileOf& file) {
  for (std::uint32_t seat = 0; seat < muster_.ranks.size(); ++seat)
    DLHOST_TRY(bring(concat(what, "-", seat), seat, file(seat)));
  return {};
}

Status Relay::bring(std::string_view what, std::uint32_t seat, const std::string& file) {
  if (muster_.ranks[seat] == members_.rank()) {
    DLHOST_ASSIGN(const std::string text, await_file(file));
    Status told = members_.tell(name(what), text);
    return told.code() == Code::cancelled ? others_left(told) : told;
  }
  DLHOST_ASSIGN(const std::string text, await_words(name(what)));
  return host_.disk().write_text(at(file), text);
}

// Why an attempt cannot be, as members and workers write it down.
std::string Relay::words_of(const Status& status) {
  const nlohmann::json text{{"code", static_cast<int>(status.code())}, {"message", status.message()}};
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status Relay::status_of(const std::string& words) {
  const auto said = nlohmann::json::parse(words, nullptr, false);
  const auto damaged = [] { return Status::corrupt("why another member failed is damaged"); };
  if (!said.is_object() || !said.contains("code") || !said.contains("message")) return damaged();
  const auto &code = said["code"], &message = said["message"];
  if (!code.is_number_integer() || !message.is_string() || code < 1 || code > static_cast<int>(Code::internal))
    return damaged();
  return Status(static_cast<Code>(code.get<int>()), message.get<std::string>());
}

Status Relay::hope() {
  if (host_.disk().exists(at(FolderRoster::failure_name))) {
    DLHOST_ASSIGN(const auto words, host_.disk().read_text(at(FolderRoster::failure_name)));
    DLHOST_TRY(status_of(words));
  }
  DLHOST_TRY(look_());
  const auto failed = members_.hear(name("failed"), Members::glance);
  if (failed.ok()) return status_of(*failed);
  return failed.status().code() == Code::timeout ? Status() : others_left(failed.status());
}

// Whoever has come or gone: all begin once more.
Status Relay::others_left(const Status& status) {
  if (status.code() != Code::cancelled) return status;
  return Status::gone("one of the run's processes has come or gone while they met");
}

Result<std::string> Relay::await_file(const std::string& file) {
  Clock& clock = host_.clock();
  for (Nanoseconds hoped = clock.now(); !host_.disk().exists(at(file)); clock.sleep(pause)) {
    if (clock.now() - hoped < patience) continue;
    hoped = clock.now();
    DLHOST_TRY(hope());
  }
  return host_.disk().read_text(at(file));
}

Result<std::string> Relay::await_words(const std::string& name) {
  while (true) {
    auto words = members_.hear(name, patience);
    if (words.ok()) return words;
    if (words.status().code() != Code::timeout) return others_left(words.status());
    DLHOST_TRY(hope());
  }
}

// The workers here, and all members.
Status Relay::fail(Status status) {
  const std::string words = words_of(status);
  members_.tell(name("failed"), words).ignore("another was first, or who is in has changed");
  if (!host_.disk().exists(at(FolderRoster::failure_name)))
    host_.disk()
        .write_text(at(FolderRoster::failure_name), words)
        .ignore("whoever waits notices that this one is gone");
  return status;
}

} // namespace dlhost::run
