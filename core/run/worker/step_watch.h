// Measures how a worker's steps spend their time: input, moving params, serving, waiting. The rest is computing. The
// times are published in the worker's vitals.
#pragma once

#include "run/input/feeds.h"
#include "run/worker/worker.h"

namespace dlhost::run {

class StepWatch {
 public:
  StepWatch(Clock& clock, const Feeds& feeds, Worker& worker) : clock_(clock), feeds_(feeds), worker_(worker) {}

  // begin() starts the measured time and end() stops it.
  void begin() { before_ = now(); }
  void end();
  // Ends one step and begins the next.
  void lap() {
    end();
    begin();
  }

 private:
  StepTimes now() const;

  Clock& clock_;
  const Feeds& feeds_;
  Worker& worker_;
  StepTimes before_, steps_;
};

} // namespace dlhost::run
