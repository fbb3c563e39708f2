// Ends a process in which a call of a plugin does not return; the message names the plugin (plugin/faults.h). Each
// session has a watch. If there are several at a time, the first sets the limit until a step is done.
#pragma once

#include <dlhost/host.h>

namespace dlhost::run {

class HangWatch {
 public:
  // The limit of one call in seconds. 0: ten minutes until a step is done, then a hundred times the longest step, at
  // least a minute. Infinite: no limit. After this process was asked to end, the limit is at most ten times the longest
  // step, or ten seconds if that is longer.
  explicit HangWatch(double seconds);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  // Reports the duration of a step.
  void step_done(Nanoseconds took);

 private:
  void watch() const;

  const bool chosen_by_steps_;
  Nanoseconds limit_ = 0;
  Nanoseconds longest_step_ = 0;
};

} // namespace dlhost::run
