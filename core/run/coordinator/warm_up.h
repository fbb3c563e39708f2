// Warm-up: until so many steps are made the first group trains alone, in a run of one group. Then the run stands still
// and goes on as the job says, as if it were scaled (docs/decisions/scaling.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "config/job.h"

namespace dlhost::run {

inline bool warms_up(const config::Job& job, std::uint64_t step) {
  return job.topology.worker_groups > 1 && step < static_cast<std::uint64_t>(job.topology.warmup_steps);
}

// The job as it is trained from that step on.
inline config::Job arranged_at(config::Job job, std::uint64_t step) {
  config::Topology& topology = job.topology;
  if (warms_up(job, step)) {
    topology.worker_groups = topology.server_groups = 1;
    topology.servers_per_group = std::min(topology.servers_per_group, topology.workers_per_group);
    topology.sync = {};
  }
  topology.warmup_steps = 0;
  return job;
}

} // namespace dlhost::run
