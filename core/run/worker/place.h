// A worker's place among all: its group, its rank in it, its rows of the group's batches, and whose servers serve it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "config/job.h"

namespace dlhost::run {

struct Place {
  std::uint32_t group = 0, groups = 1;
  std::uint32_t rank = 0, workers = 1; // of the group
  std::int64_t first_row = 0, rows = 0;
  std::int64_t global_batch = 0; // samples that make one update
  // The servers that it has, and the groups that have them.
  std::uint32_t server_group = 0, server_groups = 1;
  std::uint32_t first_served = 0, served = 1;

  // Where a job wants the same bits for any number of workers, each sum over a batch is made of eight blocks, of so
  // many samples.
  static constexpr std::int64_t blocks = 8;
  std::int64_t block() const { return (global_batch + blocks - 1) / blocks; }
  // Whether this worker's blocks are a branch of the tree in which all are summed.
  bool has_whole_blocks() const {
    return global_batch % blocks == 0 && rows % block() == 0 &&
           std::has_single_bit(static_cast<std::uint64_t>(rows / block()));
  }

  // The only worker.
  static Place alone(const config::Job& job) { return {.rows = job.train.batch, .global_batch = job.train.batch}; }
  // The one on that seat: group by group, rank by rank. `joint`: the groups' contributions make one update together.
  // Each gets as many rows as any other of its group, or one more; or what its share is of them, but one at least.
  static Place at(const config::Job& job, std::uint32_t seat, bool joint) {
    const auto workers = static_cast<std::uint32_t>(job.topology.workers_per_group);
    const auto groups = static_cast<std::uint32_t>(job.topology.worker_groups);
    const std::uint32_t rank = seat % workers, group = seat / workers;
    const std::int64_t first_row = first_row_of(job, rank);
    const auto server_groups = static_cast<std::uint32_t>(job.topology.server_groups);
    const std::uint32_t server_group = group * server_groups / groups;
    const std::uint32_t first = first_of(job.topology, server_group);
    const std::uint32_t served = served_by(job.topology, server_group);
    return {.group = group,
            .groups = groups,
            .rank = rank,
            .workers = workers,
            .first_row = first_row,
            .rows = first_row_of(job, rank + 1) - first_row,
            .global_batch = job.train.batch * (joint ? served : 1),
            .server_group = server_group,
            .server_groups = server_groups,
            .first_served = first,
            .served = served};
  }
  static std::int64_t first_row_of(const config::Job& job, std::uint32_t rank) {
    const std::int64_t batch = job.train.batch, workers = job.topology.workers_per_group;
    const auto& shares = job.topology.shares;
    if (shares.empty()) return batch * rank / workers;
    const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
    double before = 0;
    std::int64_t row = 0;
    for (std::uint32_t r = 0; r < rank; ++r) {
      before += static_cast<double>(shares.at(r));
      const auto wanted = std::llround(static_cast<double>(batch) * before / whole);
      row = std::clamp<std::int64_t>(wanted, row + 1, batch - (workers - r - 1));
    }
    return row;
  }
  // Whether there are seats: of several workers, or of one that is to send its gradients to a server all the same.
  static bool has_seats(const config::Topology& topology) {
    using config::Crossing;
    return seats(topology) > 1 || topology.copy == Crossing::sync || topology.copy == Crossing::async;
  }
  // Whether several workers have all params for themselves, and their devices sum their gradients.
  static bool sums_on_devices(const config::Topology& topology) {
    return seats(topology) > 1 && topology.copy == config::Crossing::none;
  }
  // Whether servers have what several workers contribute, and write it down; else samples say it all.
  static bool contribute_to_servers(const config::Topology& topology) {
    return seats(topology) > 1 && !sums_on_devices(topology);
  }
  // The first of the groups that a server group serves; its servers sit beside their workers, from the first on.
  static std::uint32_t first_of(const config::Topology& topology, std::uint32_t server_group) {
    return static_cast<std::uint32_t>((server_group * topology.worker_groups + topology.server_groups - 1) /
                                      topology.server_groups);
  }
  static std::uint32_t served_by(const config::Topology& topology, std::uint32_t server_group) {
    return first_of(topology, server_group + 1) - first_of(topology, server_group);
  }
  // The machine of each seat: each has as many as any other, or one more.
  static std::vector<std::uint32_t> machines(const config::Topology& topology) {
    std::vector<std::uint32_t> machines(seats(topology));
    for (std::size_t seat = 0; seat < machines.size(); ++seat)
      machines[seat] = static_cast<std::uint32_t>(seat * static_cast<std::size_t>(topology.machines) / machines.size());
    return machines;
  }
  static std::uint32_t seats(const config::Topology& topology) {
    return static_cast<std::uint32_t>(topology.worker_groups * topology.workers_per_group);
  }
};

} // namespace dlhost::run
