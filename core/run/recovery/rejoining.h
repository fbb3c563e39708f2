// The first server group begins anew, with the run's leader, among groups that go on without it
// (docs/decisions/losses.md): a process of it has died, perhaps the leader. The process that leads now starts the
// group's other workers, lets all workers that go on connect to them, and learns from these where the run is. After
// that the group joins like any other (run/recovery/replacing.h).
//
// Thread: the leader's. Owns: none of the constructor's arguments.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/replacement.h"
#include "run/coordinator/worker_pool.h"
#include "run/worker/worker.h"

namespace dlhost::run {

class Rejoining {
 public:
  Rejoining(Host& host, WorkerPool& pool, Worker& leader)
      : host_(host), pool_(pool), leader_(leader), begun_(host.clock().now()) {}

  // Returns when all workers that go on reach this group's processes; the others are lost. Requires: the leader has put
  // its contact, and the pool has started the group's other processes.
  // Errors: gone if no other group goes on, or if a process of this group has ended.
  Status gather();
  // The point where the group begins: what it had learned, as others may have heard it.
  const param::StartPoint& left() const { return left_; }
  // Describes it for people. Requires: the group makes steps. `why`: it began anew.
  record::Replacement told(std::string why);

 private:
  Status await_own();
  // Returns the server groups that are lost.
  Result<std::vector<std::uint32_t>> await_others();
  Result<bool> is_known_what_these_left(std::span<const std::uint32_t> lost) const;
  bool fits(const std::optional<Survival>&) const;
  void merge();
  void take_left_by(std::uint32_t group, const param::StartPoint& said);
  bool waits_too_long() const;
  const plan::WorkerMap& map() const { return leader_.ends().layout.map; }

  Host& host_;
  WorkerPool& pool_;
  Worker& leader_;
  const Nanoseconds begun_;
  std::vector<std::optional<Survival>> survivals_; // of each worker; empty: it is gone
  param::StartPoint left_;
};

} // namespace dlhost::run
