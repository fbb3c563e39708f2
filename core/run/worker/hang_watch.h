// Ends a process in which a call of a plugin does not come back; the message names it (plugin/faults.h). Each session
// has one, from its first plugin to its last; where several are there at a time, the first one's limit counts.
#pragma once

#include <dlhost/host.h>

namespace dlhost::run {

class HangWatch {
 public:
  // How long one call may take, in seconds. 0: ten minutes until a step is done, then the longer of a minute and a
  // hundred times the longest step; infinite: for ever. After this process was asked to end it is no longer than the
  // longer of ten seconds and ten times the longest step.
  explicit HangWatch(double seconds);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  // A step that took so long is done.
  void step_done(Nanoseconds took);

 private:
  void watch() const;

  const bool chosen_by_steps_;
  Nanoseconds limit_ = 0;
  Nanoseconds longest_step_ = 0;
};

} // namespace dlhost::run
