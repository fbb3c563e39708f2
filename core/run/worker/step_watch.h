// Where the time of a worker's steps goes: to its input, to moving params, to serving them, to waiting for others; what
// is left it computes. The worker shows it to all of a run.
#pragma once

#include "run/input/feeds.h"
#include "run/worker/seat.h"

namespace dlhost::run {

class StepWatch {
 public:
  StepWatch(Clock& clock, const Feeds& feeds, Seat& seat) : clock_(clock), feeds_(feeds), seat_(seat) {}

  // From here on time is a step's; up to here it was.
  void begin() { before_ = now(); }
  void end();
  // One step ends, and the next one begins.
  void lap() {
    end();
    begin();
  }

 private:
  StepTimes now() const;

  Clock& clock_;
  const Feeds& feeds_;
  Seat& seat_;
  StepTimes before_, steps_;
};

} // namespace dlhost::run
