// A run, from its job to its end: one attempt, or, where workers die that are processes, several in one folder.
#pragma once

#include <string>

#include "cli/command.h"
#include "config/job.h"
#include "run/membership/members.h"

namespace dlhost::cli {

struct RunStart {
  std::string resume = {}; // the folder of a run, or a checkpoint; empty: at the first step
  int take_over = -1;      // in the place of a leader that died: the lock that this process holds already
  int standby = -1;        // and its line to its standby
  bool succeeds = false;   // in the place of one that was lost, perhaps with its machine
  bool profile = false;
  bool accepts_data = false; // of a resumed run, other than it had
  bool verifies_data = false;
};

// `members`: who shares out the workers; null: this process starts all of them.
Status run_to_its_end(Context&, const RunStart&, config::Job, run::Members*);

} // namespace dlhost::cli
