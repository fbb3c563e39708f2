// Before an evaluation or a checkpoint: contributions that were folded go into values, replicas become one, and each
// server group tells its versions. The leader's.
#pragma once

#include <cstdint>
#include <vector>

#include "run/worker/lost_groups.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class Alignment {
 public:
  Alignment(WorkerEnds& ends, const LostGroups& lost) : ends_(ends), lost_(lost) {}

  // Waits until all slices are aligned. Requires: no worker sends contributions.
  Status align();
  Status hear_aligned(std::uint32_t from, const param::to_worker::Aligned&);
  std::uint64_t times() const { return times_; } // so far
  // A new leader: other leaders have aligned the slices so often before.
  void begin_after(std::uint64_t times) { times_ = times; }
  // How long the others stood still, since the last call, because a group was lost meanwhile.
  Nanoseconds take_stood_still() { return std::exchange(stood_still_, 0); }

  // Of a slice in a server group, at the last alignment.
  struct Aligned {
    Version version = 0;
    std::size_t place = 0; // which of the masters' values
    std::uint64_t exchanges = 0;
  };
  bool any() const { return !aligned_.empty(); }
  std::size_t groups() const { return aligned_.size(); }
  const Aligned& of(std::uint32_t server_group, SliceId slice) const { return aligned_[server_group][slice]; }

 private:
  Status align_remaining();
  Status align_exchanges();

  WorkerEnds& ends_;
  const LostGroups& lost_;
  std::vector<std::vector<Aligned>> aligned_; // of each server group the slices'
  std::size_t unaligned_ = 0;                 // slices whose servers have not answered yet
  std::uint64_t times_ = 0;
  Nanoseconds stood_still_ = 0;
};

} // namespace dlhost::run
