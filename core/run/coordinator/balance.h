// Distributes rows by speed: after topology.balance_steps steps the run pauses once, and each worker's share of its
// group's batch becomes proportional to its measured speed (docs/decisions/balance.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/job.h"
#include "record/worker_report.h"

namespace dlhost::run {

// True if balancing is due. `made`: steps since the run began or was resumed.
bool is_to_balance(const config::Job&, std::uint64_t made);
// The job with shares from these reports, one for each worker. It is not balanced again.
config::Job balanced(config::Job, std::span<const record::WorkerReport>);
// Rows of a group's workers, by rank.
std::vector<std::int64_t> rows_of(const config::Job&);

} // namespace dlhost::run
