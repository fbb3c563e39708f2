// The ledgers of a run (param/server/ledger.h). A ledger numbers workers and slices, so each topology ("arrangement")
// has its own: RUN/ledger is the newest, and RUN/ledger-1, RUN/ledger-2, ... are the earlier ones in order. Each
// attempt of a run has a folder in its ledger: begun-1, begun-2, ... So lines that an abandoned process writes late
// stand in an old attempt, after the lines that count, and are void.
//
// RUN/ledger/arrangement.json names the run, whose folder may be moved, and gives the numbers of workers and servers.
// RUN/ledger/job-DIGEST.toml is the job of one or several attempts. The first line of each server's file has the
// digests of both, so a change of either is detected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>

#include "config/job.h"
#include "record/ledger_head.h"

namespace dlhost::run {

// The folder into which this job's servers write from now on. The ledger of another arrangement is moved aside.
// `job_text`: the job as the run's folder has it; empty: it has none.
struct BegunLedger {
  std::string folder;
  record::LedgerOf of;
};
Result<BegunLedger> begin_ledger(Host&, const std::string& run, const config::Job&, std::string_view job_text);

// A ledger and the job at that time, as far as the ledger's numbers depend on it.
struct KeptLedger {
  std::string folder;
  record::LedgerOf of; // of its first attempt; `numbers` is the digest of arrangement.json as it is now
  config::Job job;
};
// The numbers of the attempts in a ledger, sorted.
Result<std::vector<std::uint64_t>> attempts_in(Disk&, const std::string& ledger);
std::string attempt_in(const std::string& ledger, std::uint64_t attempt);
std::string arrangement_in(const std::string& ledger);
// The job with that digest.
std::string job_in(const std::string& ledger, const std::string& digest);
// The digest of a file's text, as a ledger has it.
std::string ledger_digest(std::string_view text);
// The ledger of an arrangement; `newest` is the number of the present arrangement.
std::string ledger_of(const std::string& run, std::uint64_t arrangement, std::uint64_t newest);
// All ledgers, oldest first. `job`: the run's. Errors: a ledger is missing, or its arrangement.json is missing or
// damaged.
Result<std::vector<KeptLedger>> kept_ledgers(Disk&, const std::string& run, const config::Job& job);

} // namespace dlhost::run
