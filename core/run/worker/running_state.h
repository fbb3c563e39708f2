// Running state of the workers, which is merged during pauses (dlhost/layer.h, Merge). It lies in memory that all
// workers see if the host can reach the computing device's memory; else a copy of it is left there and taken back.
#pragma once

#include <dlhost/device.h>

#include "run/worker/worker_ends.h"

namespace dlhost::run {

class RunningState {
 public:
  explicit RunningState(WorkerEnds& ends) : ends_(ends) {}
  // Copies this worker's state to where others see it, and from there.
  Status leave() const { return copy(Direction::to_host); }
  Status land() const { return copy(Direction::from_host); }
  // All workers get the first one's, which a checkpoint brought.
  void spread() const;
  // All workers get the merged state, also on other machines once it is shown.
  Status merge() const;

 private:
  Status copy(Direction) const;
  std::size_t count() const { return ends_.memory.places().states.size(); }

  WorkerEnds& ends_;
};

} // namespace dlhost::run
