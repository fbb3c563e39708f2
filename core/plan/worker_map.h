// The workers of a run by number: group by group, rank by rank. Tells their groups, servers and machines.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/job.h"

namespace dlhost::plan {

class WorkerMap {
 public:
  // `machines`: of each worker.
  WorkerMap(const config::Topology&, std::vector<std::uint32_t> machines);

  std::uint32_t workers() const { return static_cast<std::uint32_t>(machines_.size()); }
  std::uint32_t groups() const { return workers() / each_; }
  std::uint32_t workers_of_group() const { return each_; }
  std::uint32_t server_groups() const { return static_cast<std::uint32_t>(homes_.size()) - 1; }
  std::uint32_t servers() const { return servers_; } // of each server group

  // The first worker that a server group serves. Its servers run beside the workers from this one on.
  std::uint32_t home_of(std::uint32_t server_group) const { return homes_[server_group]; }
  std::vector<std::uint32_t> servers_of(std::uint32_t server_group) const;
  // The workers that a server group serves.
  std::vector<std::uint32_t> workers_of(std::uint32_t server_group) const;
  std::uint32_t server_group_of(std::uint32_t worker) const;

  const std::vector<std::uint32_t>& machines() const { return machines_; }
  std::uint32_t machine_of(std::uint32_t worker) const { return machines_[worker]; }
  std::uint32_t workers_on(std::uint32_t machine) const;
  // Other workers run on this one's machine. Also true of a single worker: its server runs there.
  bool has_near(std::uint32_t worker) const { return workers() == 1 || workers_on(machine_of(worker)) > 1; }
  // Some workers run on other machines.
  bool has_far(std::uint32_t worker) const { return workers_on(machine_of(worker)) < workers(); }
  // The first worker on a machine that a server group serves; it makes the group's masters for that machine. Empty: the
  // group serves none there.
  std::optional<std::uint32_t> first_on(std::uint32_t machine, std::uint32_t server_group) const;

 private:
  std::uint32_t each_, servers_;
  std::vector<std::uint32_t> machines_;
  std::vector<std::uint32_t> homes_; // of each server group, and one entry after the last
};

} // namespace dlhost::plan
