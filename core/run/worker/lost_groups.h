// Server groups that are lost while the others go on (docs/decisions/losses.md): which workers are lost, as one worker
// knows it, and how the processes that replace them come in. The leader's side: run/recovery/replacing.h. If the first
// group is lost, with the leader: lost_leader.h and run/recovery/rejoining.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "run/worker/worker_ends.h"

namespace dlhost::run {

class LostGroups {
 public:
  // `mends`: the others go on without a lost group.
  LostGroups(WorkerEnds&, bool mends);
  bool mends() const { return mends_; }

  bool any() const;
  bool has(std::uint32_t server_group) const; // one of its workers at least
  bool has_all(std::uint32_t server_group) const;
  // It is lost, or its new processes have not got their values yet. Requires: this worker leads the run.
  bool lacks(std::uint32_t server_group) const {
    return has(server_group) || (admission_ && admission_->server_group == server_group);
  }
  bool is_lost(std::uint32_t worker) const { return lost_[worker]; }
  std::uint64_t count() const { return count_; } // so far

  // This worker's group joins those that have begun before; empty: it began with them.
  const std::optional<param::Joining>& joining() const { return joining_; }
  // Learns from the address book whether this worker's group joins.
  Status find_joining();
  // Reaches a worker that had begun before this one's group. Errors: it is gone, and this worker or that one is of the
  // leader's group.
  Status reach_earlier(std::uint32_t worker, const Contact&);
  // Takes over what the servers do not bring, from the first group that goes on: first values, frozen params, histories
  // and running state.
  Status bring_values();
  // All have begun: from now on groups can be lost.
  void begin() { may_lose_ = true; }
  // This worker's group has its values: from now on it goes on without the first group as well.
  void have_values() { has_values_ = true; }

  // A worker is gone. False: the run does not go on without it.
  Result<bool> lose(std::uint32_t worker);
  Status hear_lost(std::uint32_t from, const param::to_worker::Lost&);
  Status hear_join(std::uint32_t from, const param::to_worker::Join&);
  Status hear_joined(std::uint32_t from, const param::to_worker::Joined&);
  // Connects to a group's new processes. `contacts`: of its workers.
  Status take_in(std::uint32_t server_group, std::uint64_t number, std::uint32_t order,
                 std::span<const Contact> contacts);
  // The number of a group's present processes.
  std::uint64_t number_of(std::uint32_t server_group) const { return joins_[server_group]; }
  // What this worker tells a new leader: where the run is, and what the lost groups had learned.
  Survival survival() const;
  // Adds what other groups had learned that were lost since.
  void add_lost(Survival&) const;
  // Tells the leader which workers are lost.
  Status tell_lost() const;

  // Writes what a lost group had learned of a slice; returns the version that has it. Empty: its server had not begun.
  std::optional<Version> learned_by(std::uint32_t server_group, const param::Slice&, std::span<float> learned) const;
  // Writes into the point where lost groups will go on.
  void count_in(param::StartPoint&) const;

  // The leader's.
  // A new leader's, from the survivals: the numbers of the groups' processes.
  void take_numbers(std::vector<std::uint64_t> joins) { joins_ = std::move(joins); }
  // The point where processes that replace a group begin: with all that others may have heard of the group.
  param::StartPoint left_by(std::uint32_t server_group) const;
  bool admits() const { return admission_.has_value(); }
  // New processes of the group may start: all have read the contacts of the group that was admitted last.
  bool may_restart(std::uint32_t server_group) const {
    return !admission_ || (admission_->server_group == server_group && is_reached());
  }
  // Tells all to reach the group's new processes. Requires: these have come, and no worker is held.
  Status admit(std::uint32_t server_group, param::Joining);
  bool is_reached() const; // by all
  param::Joining admission() const;
  bool has_joined() const; // the group's servers have their values
  // The group makes steps now, up to `until`; empty: when it is freed. A group that was lost meanwhile is given up.
  Status release(std::optional<std::uint64_t> until);
  void give_up_admission() { admission_.reset(); }
  // The steps of each worker, as it shows them.
  std::vector<std::uint64_t> steps_shown() const;

  std::function<void(std::uint32_t worker)> on_replaced; // another process is this worker now

 private:
  struct Admission {
    std::uint32_t server_group = 0;
    param::Joining joining;
    std::vector<bool> reached; // of each worker: it reaches the new processes
    std::uint32_t joined = 0;  // servers of the group
  };
  // The leader's own group joins: it counts the servers that have their values.
  void await_own_group();
  // This worker sees what the group's servers published, or did until they were lost.
  bool sees(std::uint32_t server_group) const;
  param::StartPoint left() const;
  std::uint64_t steps_of(std::uint32_t worker) const;
  std::uint32_t first_that_goes_on() const; // of the other server groups
  void count_left(std::uint32_t server_group, param::StartPoint&) const;
  Status lose_group(std::uint32_t server_group);
  void begin_where_left(std::uint32_t server_group);
  Status reach(std::uint32_t worker, const Contact&);
  void reach_or_lose(std::uint32_t worker, const Contact&);

  WorkerEnds& ends_;
  const plan::WorkerMap& map_;
  const std::uint32_t number_, own_group_;
  const bool mends_;
  bool may_lose_ = false, has_values_ = false;
  std::vector<bool> lost_;           // workers
  std::uint32_t admissions_ = 0;     // so far; the leader counts them
  std::vector<std::uint64_t> joins_; // of each server group, the number of the one that joined last
  std::uint64_t count_ = 0;
  std::optional<param::Joining> joining_;
  std::optional<Admission> admission_;
};

} // namespace dlhost::run
