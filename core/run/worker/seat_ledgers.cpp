// What servers write down, seen from a seat: its own server's file, and how far those of all have come, for who saves
// what rests on them.
#include <algorithm>

#include "record/patient_log.h"
#include "run/worker/seat.h"

namespace dlhost::run {

Status Seat::keep_ledger(const param::StartPoint& beginning) {
  Disk& disk = session_.host().disk();
  const std::uint32_t server = place_.server_group * servers_ + number_ - home_of(place_.server_group);
  DLHOST_TRY(disk.make_directory(beginning.ledger));
  DLHOST_ASSIGN(auto file, disk.open_log(param::Ledger::file_in(beginning.ledger, server)));
  auto patient = std::make_unique<record::PatientLog>(std::move(file), session_.host());
  return shard_->keep_ledger(std::move(patient), server, beginning);
}

Status Seat::attest() {
  heads_ = {.run = begun_.ledger_of.run, .all = {}, .steps = {}};
  if (begun_.ledger.empty() || !shares_params()) return {};
  attests_.assign(seats_, false);
  for (std::uint32_t group = 0; group < place_.server_groups; ++group)
    for (const std::uint32_t seat : servers_of(group)) {
      attests_[seat] = true;
      DLHOST_TRY(table_->send(seat, {.word = param::Word::attest}));
    }
  heads_.steps = reached_.steps;
  return table_->wait_until([this] {
    const auto first = std::ranges::find(attests_, true);
    return first == attests_.end()
               ? is_over(true, {})
               : is_over(false, on(Awaited::What::answers, static_cast<std::uint32_t>(first - attests_.begin())));
  });
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
    const std::string path = concat(begun_.ledger, "/", entry.name);
    DLHOST_ASSIGN(const auto file, disk.open_log(path));
    DLHOST_TRY(file->sync());
    const auto text = disk.read_text(path); // where it cannot be read, the run goes on all the same
    const auto end = text.ok() ? param::LedgerChain::end_of(*text) : std::nullopt;
    if (!end) continue; // it had not begun
    heads_.all.push_back({.arrangement = begun_.ledger_of.arrangement,
                          .attempt = begun_.ledger_of.attempt,
                          .server = *server,
                          .lines = end->lines,
                          .chain = end->digest});
  }
  return {};
}

} // namespace dlhost::run
