// The partitions that runs can execute.
#pragma once

#include "config/job.h"
#include "config/problems.h"
#include "net/graph.h"
#include "plan/exchange.h"

namespace dlhost::plan {

// The run that is to divide the net.
struct DividedRun {
  const Exchange& exchange;
  bool sums_over_params = false; // the updater needs them
};

// Adds what keeps the net from being divided as the job asks. `run`: null for a plan that no run may be able to
// execute.
void check_partition(const net::Graph&, const config::Job&, const DividedRun* run, config::Problems&);

} // namespace dlhost::plan
