// The folders of a ledger, read and put together.
#include <algorithm>
#include <map>

#include "run/recovery/ledgers.h"
#include "tools/audit/audit.h"
#include "tools/audit/ledger_reader.h"

namespace dlhost::tools {
namespace {

// A forged arrangement.json would give each contribution another meaning.
void look_for_arrangement(Audit& audit, const std::string& folder, const record::LedgerOf& of) {
  for (const Audit::File& file : audit.files) {
    if (file.numbers.empty() || file.numbers == of.numbers) continue;
    audit.arranged = false;
    audit.faults.push_back(concat(run::arrangement_in(folder), " was changed: ", file.path, " began with digest ",
                                  file.numbers, " of it, and it has ", of.numbers));
    return;
  }
}

// A server may have died before it wrote anything.
Result<Audit> read_ledger(Disk& disk, const std::string& folder, const record::LedgerOf& of) {
  std::map<std::uint32_t, LedgerReader> readers;
  DLHOST_ASSIGN(const auto attempts, run::attempts_in(disk, folder));
  for (const std::uint64_t attempt : attempts) {
    const std::string begun = run::attempt_in(folder, attempt);
    DLHOST_ASSIGN(const auto entries, disk.list(begun));
    for (const auto& entry : entries) {
      const auto server = param::Ledger::server_of(entry.name);
      if (!server) continue;
      const std::string path = concat(begun, "/", entry.name);
      DLHOST_ASSIGN(const auto text, disk.read_text(path));
      LedgerReader& reader = readers.try_emplace(*server, *server).first->second;
      record::LedgerOf of_attempt = of;
      of_attempt.attempt = attempt;
      reader.read(text, path, of_attempt);
    }
  }
  Audit audit;
  audit.attempts = attempts;
  for (auto& [server, reader] : readers) reader.add_to(audit);
  std::ranges::stable_sort(audit.files, {}, &Audit::File::attempt);
  for (const Audit::File& file : audit.files)
    if (!file.job.empty()) audit.job = file.job; // the newest attempt's is the last
  return audit;
}

} // namespace

Result<Audit> audit(Disk& disk, const std::string& folder, const record::LedgerOf& of, std::int64_t servers_per_group) {
  DLHOST_ASSIGN(auto audit, read_ledger(disk, folder, of));
  if (audit.contributors == 0 && audit.faults.empty())
    return Status::not_found(
        "'", folder,
        "' holds no ledger: one worker alone keeps none (each step's samples make each version), nor do several whose "
        "devices sum gradients (topology.device_copies = \"none\"), or with record.ledger = false");
  look_for_arrangement(audit, folder, of);
  if (audit.arranged) look_through(audit, servers_per_group);
  return audit;
}

} // namespace dlhost::tools
