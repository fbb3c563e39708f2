#include "plan/place.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "plan/exchange.h"

namespace dlhost::plan {
namespace {

std::int64_t first_row_of(const config::Job& job, std::uint32_t rank) {
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

} // namespace

bool Place::has_whole_blocks() const {
  return global_batch % blocks == 0 && rows % block() == 0 &&
         std::has_single_bit(static_cast<std::uint64_t>(rows / block()));
}

Place Place::at(const config::Job& job, std::uint32_t seat) {
  const auto workers = static_cast<std::uint32_t>(job.topology.workers_per_group);
  const auto groups = static_cast<std::uint32_t>(job.topology.worker_groups);
  const auto server_groups = static_cast<std::uint32_t>(job.topology.server_groups);
  const std::uint32_t rank = seat % workers, group = seat / workers;
  const std::uint32_t server_group = group * server_groups / groups;
  const std::int64_t first_row = first_row_of(job, rank);
  return {.group = group,
          .groups = groups,
          .rank = rank,
          .workers = workers,
          .first_row = first_row,
          .rows = first_row_of(job, rank + 1) - first_row,
          .global_batch = job.train.batch,
          .server_group = server_group,
          .server_groups = server_groups,
          .first_served = first_of(job.topology, server_group),
          .served = served_by(job.topology, server_group)};
}

std::vector<std::int64_t> Place::bounds_of_rows(const config::Job& job) {
  std::vector<std::int64_t> bounds;
  for (std::uint32_t rank = 0; rank <= static_cast<std::uint32_t>(job.topology.workers_per_group); ++rank)
    bounds.push_back(first_row_of(job, rank));
  return bounds;
}

Place Place::at(const config::Job& job, std::uint32_t seat, const Exchange& exchange) {
  Place place = at(job, seat);
  if (exchange.joint) place.global_batch = job.train.batch * place.served;
  if (exchange.alike()) place.global_batch = job.train.batch * place.groups;
  if (exchange.groups == Exchange::Groups::contributions) {
    place.first_served = 0;
    place.served = place.groups;
  }
  return place;
}

bool Place::has_seats(const config::Topology& topology) {
  using config::Crossing;
  return seats(topology) > 1 || topology.copy == Crossing::sync || topology.copy == Crossing::async;
}

bool Place::sums_on_devices(const config::Topology& topology) {
  return seats(topology) > 1 && topology.copy == config::Crossing::none;
}

std::uint32_t Place::first_of(const config::Topology& topology, std::uint32_t server_group) {
  return static_cast<std::uint32_t>((server_group * topology.worker_groups + topology.server_groups - 1) /
                                    topology.server_groups);
}

std::vector<std::uint32_t> Place::machines(const config::Topology& topology) {
  std::vector<std::uint32_t> machines(seats(topology));
  for (std::size_t seat = 0; seat < machines.size(); ++seat)
    machines[seat] = static_cast<std::uint32_t>(seat * static_cast<std::size_t>(topology.machines) / machines.size());
  return machines;
}

} // namespace dlhost::plan
