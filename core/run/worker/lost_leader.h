// The run's leader is lost, with the first server group, and the other groups go on (docs/decisions/losses.md). Each of
// their workers looks for the process that leads from now on, and connects to its group. That process' side:
// run/recovery/rejoining.h.
//
// Thread: the worker's. Owns: none of the constructor's arguments.
#pragma once

#include <optional>

#include "run/worker/lost_groups.h"
#include "run/worker/orders.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class LostLeader {
 public:
  LostLeader(WorkerEnds& ends, LostGroups& lost, Orders& orders) : ends_(ends), lost_(lost), orders_(orders) {}

  // Called often: looks for a new leader if the old one is lost, connects to its group, and answers it.
  // Errors: gone if no process takes the lost leader's place, or if all groups begin anew.
  Status look();
  // Waits until the leader has stopped all, has told why the run does not begin, or is gone; but not for long.
  void await_end();

 private:
  struct Leaderless {
    Nanoseconds since = 0, led = 0; // when the leader was lost, and when a process led or prepared to
    Nanoseconds next_look = 0;
    std::uint64_t steps = 0; // of this worker, at the loss
  };
  void go_on_without();
  Status follow(std::uint32_t number);
  Status answer(Survival);
  Status answer_again();

  WorkerEnds& ends_;
  LostGroups& lost_;
  Orders& orders_;
  std::optional<Leaderless> leaderless_;
  Survival survival_;        // of the last answer
  std::uint64_t losses_ = 0; // at that time
};

} // namespace dlhost::run
