// A worker's place: its group, its rank, its rows of the group's batches, and the server group that serves it.
#pragma once

#include <cstdint>
#include <vector>

#include "config/job.h"

namespace dlhost::plan {

struct Exchange;

struct Place {
  std::uint32_t group = 0, groups = 1;
  std::uint32_t rank = 0, workers = 1; // in the group
  std::int64_t first_row = 0, rows = 0;
  std::int64_t global_batch = 0; // samples of one update
  // Its server group, and the worker groups that contribute to it.
  std::uint32_t server_group = 0, server_groups = 1;
  std::uint32_t first_served = 0, served = 1;

  // For jobs that want the same bits with any number of workers: each sum over a batch is made of eight blocks of
  // block() samples.
  static constexpr std::int64_t blocks = 8;
  std::int64_t block() const { return (global_batch + blocks - 1) / blocks; }
  // True if this worker's blocks are a branch of the tree in which all blocks are summed.
  bool has_whole_blocks() const;

  // The only worker.
  static Place alone(const config::Job& job) { return {.rows = job.train.batch, .global_batch = job.train.batch}; }
  // The worker of a seat; seats are numbered group by group, rank by rank. Rows are split equally, differing by at most
  // one, or by topology.shares, with at least one row each.
  static Place at(const config::Job&, std::uint32_t seat);
  // The same, with what depends on which contributions make an update.
  static Place at(const config::Job&, std::uint32_t seat, const Exchange&);

  // The bounds of the rows of a group's batch: worker r has [bounds[r], bounds[r + 1]).
  static std::vector<std::int64_t> bounds_of_rows(const config::Job&);

  static std::uint32_t seats(const config::Topology& topology) {
    return static_cast<std::uint32_t>(topology.worker_groups * topology.workers_per_group);
  }
  // True if there are several workers, or one that sends its gradients to a server all the same.
  static bool has_seats(const config::Topology&);
  // True if each of several workers has all params and their devices sum the gradients.
  static bool sums_on_devices(const config::Topology&);
  // True if several workers contribute to servers, which record the contributions in ledgers.
  static bool contribute_to_servers(const config::Topology& topology) {
    return seats(topology) > 1 && !sums_on_devices(topology);
  }
  // The first group that a server group serves. Its servers run beside the workers of these groups, from the first on.
  static std::uint32_t first_of(const config::Topology&, std::uint32_t server_group);
  static std::uint32_t served_by(const config::Topology& topology, std::uint32_t server_group) {
    return first_of(topology, server_group + 1) - first_of(topology, server_group);
  }
  // The machine of each seat. The numbers of seats per machine differ by at most one.
  static std::vector<std::uint32_t> machines(const config::Topology&);
};

} // namespace dlhost::plan
