// What servers write down, seen from a seat: its own server's file, and how far those of all have come, for who saves
// what rests on them.
#include <algorithm>
#include <numeric>

#include "record/patient_log.h"
#include "run/worker/seat.h"

namespace dlhost::run {

Status Seat::keep_ledger(const param::StartPoint& beginning) {
  Disk& disk = session_.host().disk();
  const std::uint32_t server = place_.server_group * servers_ + number_ - home_of(place_.server_group);
  DLHOST_TRY(disk.make_directory(beginning.ledger));
  const std::string path = param::Ledger::file_in(beginning.ledger, server);
  std::string before;
  if (beginning.joining && disk.exists(path)) {
    DLHOST_ASSIGN(before, disk.read_text(path));
    const std::size_t whole = before.rfind('\n') + 1; // 0: there is none
    if (whole < before.size()) {                      // the server died while it wrote
      before.resize(whole);
      DLHOST_TRY(disk.write_text(path, before));
    }
  }
  DLHOST_ASSIGN(auto file, disk.open_log(path));
  auto patient = std::make_unique<record::PatientLog>(std::move(file), session_.host());
  return shard_->keep_ledger(std::move(patient), server, beginning, before);
}

Status Seat::attest() {
  heads_ = {.run = begun_.ledger_of.run, .all = {}, .steps = {}};
  if (begun_.ledger.empty() || !exchange_.has_servers()) return {};
  attests_.assign(seats_, false);
  for (std::uint32_t group = 0; group < place_.server_groups; ++group)
    for (const std::uint32_t seat : servers_of(group)) {
      if (has_lost(group)) continue;
      attests_[seat] = true;
      DLHOST_TRY(table_->send(seat, {.word = param::Word::attest}));
    }
  heads_.steps = reached_.steps;
  std::vector<std::uint32_t> all(seats_);
  std::iota(all.begin(), all.end(), 0U);
  const auto has_said = [&](std::uint32_t seat) { return !attests_[seat] || has_lost(server_group_of(seat)); };
  DLHOST_TRY(table_->wait_until([&] { return all_of(all, Awaited::What::answers, has_said); }));
  return find_heads_of_lost();
}

Status Seat::hear_attested(const param::Message& message) {
  if (message.seat >= attests_.size() || !attests_[message.seat])
    return Status::corrupt("seat ", message.seat, " says how far its ledger has come, which the leader did not ask");
  attests_[message.seat] = false;
  const std::uint32_t group = server_group_of(message.seat);
  heads_.all.push_back({.arrangement = begun_.ledger_of.arrangement,
                        .attempt = begun_.ledger_of.attempt,
                        .server = group * servers_ + message.seat - home_of(group),
                        .lines = message.step,
                        .chain = message.version});
  return {};
}

// What dead servers have written is synced here: it may not be on the disk yet.
Status Seat::find_heads() {
  heads_ = {.run = begun_.ledger_of.run, .all = {}, .steps = {}};
  if (begun_.ledger.empty()) return {};
  Disk& disk = session_.host().disk();
  DLHOST_ASSIGN(const auto entries, disk.list(begun_.ledger));
  for (const auto& entry : entries) {
    const auto server = param::Ledger::server_of(entry.name);
    if (!server) continue;
    DLHOST_ASSIGN(const auto head, find_head(*server));
    if (head) heads_.all.push_back(*head);
  }
  return {};
}

Result<std::optional<record::LedgerHead>> Seat::find_head(std::uint32_t server) const {
  Disk& disk = session_.host().disk();
  const std::string path = param::Ledger::file_in(begun_.ledger, server);
  DLHOST_ASSIGN(const auto file, disk.open_log(path));
  DLHOST_TRY(file->sync());
  const auto text = disk.read_text(path); // where it cannot be read, the run goes on all the same
  const auto end = text.ok() ? param::LedgerChain::end_of(*text) : std::nullopt;
  if (!end) return std::optional<record::LedgerHead>(); // it had not begun
  return std::optional(record::LedgerHead{.arrangement = begun_.ledger_of.arrangement,
                                          .attempt = begun_.ledger_of.attempt,
                                          .server = server,
                                          .lines = end->lines,
                                          .chain = end->digest});
}

// Those that had said theirs before they were lost have one already. Their files are as they are until others join.
Status Seat::find_heads_of_lost() {
  const auto has = [](const std::vector<record::LedgerHead>& heads, std::uint32_t server) {
    return std::ranges::find(heads, server, &record::LedgerHead::server) != heads.end();
  };
  for (std::uint32_t group = 1; group < place_.server_groups; ++group)
    for (std::uint32_t which = 0; has_lost(group) && which < servers_; ++which) {
      const std::uint32_t server = group * servers_ + which;
      if (!has(heads_of_lost_, server)) {
        DLHOST_ASSIGN(const auto head, find_head(server));
        if (head) heads_of_lost_.push_back(*head);
      }
      for (const record::LedgerHead& head : heads_of_lost_)
        if (head.server == server && !has(heads_.all, server)) heads_.all.push_back(head);
    }
  return {};
}

} // namespace dlhost::run
