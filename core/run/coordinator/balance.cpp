#include "run/coordinator/balance.h"

#include <algorithm>
#include <cmath>

#include "plan/place.h"

namespace dlhost::run {

bool is_to_balance(const config::Job& job, std::uint64_t made) {
  const config::Topology& topology = job.topology;
  return topology.balance_steps > 0 && topology.workers_per_group > 1 &&
         made >= static_cast<std::uint64_t>(topology.balance_steps);
}

// The workers of one rank get the same number of rows in every group, fitted to all of them together.
config::Job balanced(config::Job job, std::span<const record::WorkerReport> reports) {
  constexpr double whole = 1000;
  const auto rows = rows_of(job);
  job.topology.balance_steps = 0;
  std::vector<double> computed(rows.size()), seconds(rows.size());
  for (std::size_t seat = 0; seat < reports.size(); ++seat) {
    const std::size_t rank = seat % rows.size();
    computed[rank] += static_cast<double>(rows[rank]) * static_cast<double>(reports[seat].steps);
    seconds[rank] += reports[seat].computing();
  }
  std::vector<double> speeds;
  double sum = 0;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (computed[rank] <= 0 || seconds[rank] <= 0) return job; // no worker of this rank was measured
    sum += speeds.emplace_back(computed[rank] / seconds[rank]);
  }
  job.topology.shares.clear();
  for (const double speed : speeds)
    job.topology.shares.push_back(std::max<std::int64_t>(1, std::llround(whole * speed / sum)));
  return job;
}

std::vector<std::int64_t> rows_of(const config::Job& job) {
  std::vector<std::int64_t> rows;
  for (std::uint32_t rank = 0; rank < job.topology.workers_per_group; ++rank)
    rows.push_back(plan::Place::at(job, rank).rows);
  return rows;
}

} // namespace dlhost::run
