// The ledgers of a run (param/ledger.h) number its workers and slices, so each arrangement of them has its own:
// RUN/ledger is the newest, and RUN/ledger-1, RUN/ledger-2, ... are what was before, in their order.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

#include "config/job.h"

namespace dlhost::run {

// Where servers of this job write from now on. What another arrangement has written there makes room.
Result<std::string> begin_ledger(Disk&, const std::string& run, const config::Job&);

// A ledger, and the job as it was then, as far as it says what the ledger's numbers mean.
struct KeptLedger {
  std::string folder;
  config::Job job;
};
// The oldest first; `job` is the run's.
Result<std::vector<KeptLedger>> kept_ledgers(Disk&, const std::string& run, const config::Job& job);

} // namespace dlhost::run
