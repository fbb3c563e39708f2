// A run from its job to its end: one attempt, or several in one folder if worker processes die.
#pragma once

#include <string>

#include "cli/command.h"
#include "config/job.h"
#include "run/membership/members.h"

namespace dlhost::cli {

struct RunStart {
  std::string resume = {}; // a run's folder or a checkpoint; empty: starts at step 0
  int take_over = -1;      // descriptor of the run's lock, held from before exec, for taking over from a killed leader
  int standby = -1;        // descriptor of the line to the standby
  bool succeeds = false;   // succeeds a lost leader, perhaps on a lost machine
  bool profile = false;
  bool accepts_data = false; // the resumed run may have other data
  bool verifies_data = false;
};

// `members`: divide the workers among processes; null: this process starts all workers.
Status run_to_its_end(Context&, const RunStart&, config::Job, run::Members*);

} // namespace dlhost::cli
