#include "run/worker/ledger_keeper.h"

#include <algorithm>
#include <numeric>

#include "record/patient_log.h"

namespace dlhost::run {

Status LedgerKeeper::keep(const param::StartPoint& beginning) {
  Disk& disk = ends_.session.host().disk();
  const std::uint32_t server = ends_.layout.place.server_group * ends_.layout.map.servers() + ends_.layout.server();
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
  auto patient = std::make_unique<record::PatientLog>(std::move(file), ends_.session.host());
  return ends_.shard->keep_ledger(std::move(patient), server, beginning, before);
}

Status LedgerKeeper::attest() {
  const param::StartPoint& begun = ends_.steps.begun;
  const plan::WorkerMap& map = ends_.layout.map;
  heads_ = {.run = begun.ledger_of.run, .all = {}, .steps = {}};
  if (begun.ledger.empty() || !ends_.layout.exchange.has_servers()) return {};
  attests_.assign(map.workers(), false);
  for (std::uint32_t group = 0; group < map.server_groups(); ++group)
    for (const std::uint32_t worker : map.servers_of(group)) {
      if (is_lost_(group)) continue;
      attests_[worker] = true;
      DLHOST_TRY(ends_.send(worker, param::to_server::Attest()));
    }
  heads_.steps = ends_.steps.reached.steps;
  std::vector<std::uint32_t> all(map.workers());
  std::iota(all.begin(), all.end(), 0U);
  const auto has_said = [&](std::uint32_t worker) {
    return !attests_[worker] || is_lost_(map.server_group_of(worker));
  };
  DLHOST_TRY(ends_.table->wait_until([&] { return ends_.waits.all_of(all, Awaited::What::answers, has_said); }));
  return find_heads_of_lost();
}

Status LedgerKeeper::hear_attested(std::uint32_t from, const param::to_worker::Attested& message) {
  if (from >= attests_.size() || !attests_[from])
    return Status::corrupt("worker ", from, " tells the length of its ledger, which the leader did not ask for");
  attests_[from] = false;
  const param::StartPoint& begun = ends_.steps.begun;
  const plan::WorkerMap& map = ends_.layout.map;
  const std::uint32_t group = map.server_group_of(from);
  heads_.all.push_back({.arrangement = begun.ledger_of.arrangement,
                        .attempt = begun.ledger_of.attempt,
                        .server = group * map.servers() + from - map.home_of(group),
                        .lines = message.lines,
                        .chain = message.digest});
  return {};
}

// Syncs what dead servers have written: it may not be on the disk yet.
Status LedgerKeeper::find_heads() {
  const param::StartPoint& begun = ends_.steps.begun;
  heads_ = {.run = begun.ledger_of.run, .all = {}, .steps = {}};
  if (begun.ledger.empty()) return {};
  DLHOST_ASSIGN(const auto entries, ends_.session.host().disk().list(begun.ledger));
  for (const auto& entry : entries) {
    const auto server = param::Ledger::server_of(entry.name);
    if (!server) continue;
    DLHOST_ASSIGN(const auto head, find_head(*server));
    if (head) heads_.all.push_back(*head);
  }
  return {};
}

// Empty: the server had not begun its file.
Result<std::optional<record::LedgerHead>> LedgerKeeper::find_head(std::uint32_t server) const {
  const param::StartPoint& begun = ends_.steps.begun;
  Disk& disk = ends_.session.host().disk();
  const std::string path = param::Ledger::file_in(begun.ledger, server);
  DLHOST_ASSIGN(const auto file, disk.open_log(path));
  DLHOST_TRY(file->sync());
  const auto text = disk.read_text(path); // if the file cannot be read, the run goes on without its head
  const auto end = text.ok() ? param::LedgerChain::end_of(*text) : std::nullopt;
  if (!end) return std::optional<record::LedgerHead>();
  return std::optional(record::LedgerHead{.arrangement = begun.ledger_of.arrangement,
                                          .attempt = begun.ledger_of.attempt,
                                          .server = server,
                                          .lines = end->lines,
                                          .chain = end->digest});
}

// Some servers told their heads before they were lost. The files of lost servers stay as they are until their group
// joins again.
Status LedgerKeeper::find_heads_of_lost() {
  const auto has = [](const std::vector<record::LedgerHead>& heads, std::uint32_t server) {
    return std::ranges::find(heads, server, &record::LedgerHead::server) != heads.end();
  };
  const plan::WorkerMap& map = ends_.layout.map;
  for (std::uint32_t group = 1; group < map.server_groups(); ++group)
    for (std::uint32_t which = 0; is_lost_(group) && which < map.servers(); ++which) {
      const std::uint32_t server = group * map.servers() + which;
      if (!has(heads_of_lost_, server)) {
        DLHOST_ASSIGN(const auto head, find_head(server));
        if (head) heads_of_lost_.push_back(*head);
      }
      for (const record::LedgerHead& head : heads_of_lost_)
        if (head.server == server && !has(heads_.all, server)) heads_.all.push_back(head);
    }
  return {};
}

void LedgerKeeper::forget(std::uint32_t server_group) {
  std::erase_if(heads_of_lost_,
                [&](const auto& head) { return head.server / ends_.layout.map.servers() == server_group; });
}

} // namespace dlhost::run
