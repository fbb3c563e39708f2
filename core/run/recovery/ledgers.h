// The ledgers of a run (param/server/ledger.h) number its workers and slices, so each arrangement of them has its own:
// RUN/ledger is the newest, and RUN/ledger-1, RUN/ledger-2, ... are what was before, in their order. In each, every
// time that the run begins, or begins once more, has a folder: begun-1, begun-2, ... So what a process that was given
// up writes in its last moments, or when it is let go on, is behind what it was given up for, and void.
//
// RUN/ledger/arrangement.json names the run, whose folder may be moved, and says how many workers and servers there
// are.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

#include "config/job.h"
#include "record/ledger_head.h"

namespace dlhost::run {

// Where servers of this job write from now on. What another arrangement has written there makes room.
struct BegunLedger {
  std::string folder;
  record::LedgerOf of;
};
Result<BegunLedger> begin_ledger(Host&, const std::string& run, const config::Job&);

// A ledger, and the job as it was then, as far as it says what the ledger's numbers mean.
struct KeptLedger {
  std::string folder;
  record::LedgerOf of; // its first attempt
  config::Job job;
};
// The numbers of the attempts that have a folder there, in their order.
Result<std::vector<std::uint64_t>> attempts_in(Disk&, const std::string& ledger);
std::string attempt_in(const std::string& ledger, std::uint64_t attempt);
// Of an arrangement that came so far; `newest`: of the one that is there now.
std::string ledger_of(const std::string& run, std::uint64_t arrangement, std::uint64_t newest);
// The oldest first; `job` is the run's. Not ok: an arrangement is missing, or one does not say what it was.
Result<std::vector<KeptLedger>> kept_ledgers(Disk&, const std::string& run, const config::Job& job);

} // namespace dlhost::run
