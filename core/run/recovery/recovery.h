// Decides whether a run recovers after the death of a process: all workers begin again at the newest whole point
// (docs/decisions/recovery.md). A run that keeps dying before it gets further is given up.
#pragma once

#include <cstdint>

#include "config/job.h"

namespace dlhost::run {

class Recovery {
 public:
  // The recoveries so far. The next leader continues the count.
  struct Past {
    std::uint32_t times = 0;    // recoveries in all
    std::int64_t tries = 0;     // recoveries since the run last got further
    std::uint64_t furthest = 0; // the highest step reached
  };
  explicit Recovery(const config::Job& job) : Recovery(job, Past()) {}
  Recovery(const config::Job&, const Past&);

  bool on() const { return restarts_ > 0; }
  // Arguments: how the attempt ended, and the step that it reached. True: make another attempt.
  bool goes_on(const Status&, std::uint64_t steps);
  // Whether goes_on() would be true after a death at that step.
  bool has_tries(std::uint64_t steps) const { return steps > past_.furthest ? on() : past_.tries < restarts_; }
  const Past& past() const { return past_; }

 private:
  std::int64_t restarts_ = 0;
  Past past_;
};

} // namespace dlhost::run
