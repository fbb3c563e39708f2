#include "plan/worker_map.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/place.h"

namespace dlhost::plan {

WorkerMap::WorkerMap(const config::Topology& topology, std::vector<std::uint32_t> machines)
    : each_(static_cast<std::uint32_t>(topology.workers_per_group)),
      servers_(static_cast<std::uint32_t>(topology.servers_per_group)), machines_(std::move(machines)) {
  for (std::uint32_t group = 0; group <= topology.server_groups; ++group)
    homes_.push_back(Place::first_of(topology, group) * each_);
}

std::vector<std::uint32_t> WorkerMap::servers_of(std::uint32_t server_group) const {
  std::vector<std::uint32_t> servers(servers_);
  std::iota(servers.begin(), servers.end(), home_of(server_group));
  return servers;
}

std::vector<std::uint32_t> WorkerMap::workers_of(std::uint32_t server_group) const {
  std::vector<std::uint32_t> workers(home_of(server_group + 1) - home_of(server_group));
  std::iota(workers.begin(), workers.end(), home_of(server_group));
  return workers;
}

std::uint32_t WorkerMap::server_group_of(std::uint32_t worker) const {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(homes_, worker) - homes_.begin()) - 1;
}

std::uint32_t WorkerMap::workers_on(std::uint32_t machine) const {
  return static_cast<std::uint32_t>(std::ranges::count(machines_, machine));
}

std::optional<std::uint32_t> WorkerMap::first_on(std::uint32_t machine, std::uint32_t server_group) const {
  for (std::uint32_t worker = home_of(server_group); worker < home_of(server_group + 1); ++worker)
    if (machine_of(worker) == machine) return worker;
  return {};
}

} // namespace dlhost::plan
