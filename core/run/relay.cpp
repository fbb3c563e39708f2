#include "run/relay.h"

#include <algorithm>

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

// The leader's card comes first: the others need it to make theirs.
Status Relay::all() {
  const auto card = [](std::uint32_t seat) { return FolderRoster::card_name(seat); };
  const auto met = [](int time) { return [time](std::uint32_t seat) { return FolderRoster::met_name(seat, time); }; };
  DLHOST_TRY(spread("leader", FolderRoster::card_name(0)));
  DLHOST_TRY(exchange("cards", card));
  DLHOST_TRY(exchange("joined", met(0)));
  DLHOST_TRY(spread("begin", FolderRoster::begin_name));
  return exchange("begun", met(1));
}

Status Relay::spread(std::string_view what, const std::string& file) {
  if (muster_.ranks[0] == members_.rank()) {
    DLHOST_ASSIGN(const std::string text, await_file(file));
    return members_.tell(name(what), text);
  }
  DLHOST_ASSIGN(const std::string text, await_words(name(what)));
  return host_.disk().write_text(at(file), text);
}

Status Relay::exchange(std::string_view what, const FileOf& file) {
  std::vector<std::uint32_t> ranks = muster_.ranks;
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end()); // seats go to members in their order
  nlohmann::json own = nlohmann::json::object();
  for (const std::uint32_t seat : muster_.seats_of(members_.rank())) {
    DLHOST_ASSIGN(own[file(seat)], await_file(file(seat)));
  }
  DLHOST_TRY(members_.tell(name(concat(what, "-", members_.rank())), own.dump()));
  for (const std::uint32_t rank : ranks) {
    if (rank == members_.rank()) continue;
    DLHOST_ASSIGN(const std::string said, await_words(name(concat(what, "-", rank))));
    const auto files = nlohmann::json::parse(said, nullptr, false);
    for (const std::uint32_t seat : muster_.seats_of(rank)) {
      const auto found = files.is_object() ? files.find(file(seat)) : files.end();
      if (found == files.end() || !found->is_string())
        return Status::corrupt("what process ", rank, " of the run tells of worker ", seat, " is damaged");
      if (!host_.disk().exists(at(file(seat)))) // the leader's card is here already
        DLHOST_TRY(host_.disk().write_text(at(file(seat)), found->get<std::string>()));
    }
  }
  return {};
}

// Why an attempt cannot be, as members and workers write it down.
std::string Relay::words_of(const Status& status) {
  const nlohmann::json text{{"code", static_cast<int>(status.code())}, {"message", status.message()}};
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status Relay::status_of(const std::string& words) {
  const auto said = nlohmann::json::parse(words, nullptr, false);
  if (!said.is_object()) return Status::corrupt("why another member failed is damaged");
  return Status(static_cast<Code>(said.value("code", static_cast<int>(Code::internal))), said.value("message", ""));
}

Status Relay::hope() {
  if (host_.disk().exists(at(FolderRoster::failure_name))) {
    DLHOST_ASSIGN(const auto words, host_.disk().read_text(at(FolderRoster::failure_name)));
    DLHOST_TRY(status_of(words));
  }
  DLHOST_TRY(look_());
  const auto failed = members_.hear(name("failed"), 0);
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
    host_.disk().write_text(at(FolderRoster::failure_name), words).ignore("whoever waits notices that this one is gone");
  return status;
}

} // namespace dlhost::run
