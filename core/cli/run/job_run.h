// The run of a job in this process, as `dlhost run` starts it: the environment of its coordinator
// (run/coordinator/coordinator.h).
#pragma once

#include <string>

#include "cli/command.h"
#include "config/job.h"
#include "run/coordinator/coordinator.h"
#include "run/membership/members.h"

namespace dlhost::cli {

// How this process came to lead the run.
struct LeaderStart {
  run::RunStart run;
  int take_over = -1; // number of the run's lock, held from before exec, for taking over from a killed leader
  int standby = -1;   // descriptor of the line to the standby
};

// `members`: divide the workers among processes; null: this process starts all workers.
Status run_to_its_end(Context&, const LeaderStart&, config::Job, run::Members*);

} // namespace dlhost::cli
