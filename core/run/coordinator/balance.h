// Rows by speed: after topology.balance_steps steps the run stands still once and goes on with as large a part of each
// group's batch for a worker as it was fast (docs/decisions/balance.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/job.h"
#include "record/worker_report.h"

namespace dlhost::run {

// Where that is still to come. `made`: steps since the run began or was resumed.
bool is_to_balance(const config::Job&, std::uint64_t made);
// The job with the shares that these reports, of each worker, ask for; it is not to be balanced again.
config::Job balanced(config::Job, std::span<const record::WorkerReport>);
// Of a group, by rank.
std::vector<std::int64_t> rows_of(const config::Job&);

} // namespace dlhost::run
