// The ledgers of a run (param/ledger.h) number its workers and slices, so each arrangement of them has its own:
// RUN/ledger is the newest, and RUN/ledger-1, RUN/ledger-2, ... are what was before, in their order. In each, every
// time that the run begins, or begins once more, has a folder: begun-1, begun-2, ... So what a process that was given
// up writes in its last moments, or when it is let go on, is behind what it was given up for, and void.
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
// What was begun in such a folder, the oldest first.
std::vector<std::string> begun_in(Disk&, const std::string& ledger);
// The oldest first; `job` is the run's.
Result<std::vector<KeptLedger>> kept_ledgers(Disk&, const std::string& run, const config::Job& job);

} // namespace dlhost::run
