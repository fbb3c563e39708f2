// What people see of a run while it goes on. On a terminal: one line, drawn over, at most ten times a second. In a file
// or a pipe: a plain line about every five seconds and at each end of an epoch. Evaluations leave a line in both. One
// task calls it; between lines a call costs a look at the clock and allocates nothing.
#pragma once

#include <string>

#include <dlhost/host.h>

#include "env/terminal.h"
#include "record/report.h"

namespace dlhost::record {

class Progress {
 public:
  // Both must outlive it.
  Progress(Clock&, env::Terminal&);

  // Whether step() would show something now: metrics that cost time are read only then. In a file or a pipe the end of
  // an epoch is news as well, but not of each of many short ones.
  bool due(double epoch);
  void step(const StepReport&); // after any step; shows it when due
  void evaluation(const EvaluationReport&);
  // Before anybody else writes to the terminal: makes room. The line is there again with the next step that is due.
  void interrupt();
  // The last state, for good. Nothing may be called after it.
  void finish(const StepReport&);

 private:
  void show(const StepReport&);
  void draw(const StepReport&);
  double seconds_left(const StepReport&) const; // negative when nobody knows

  Clock& clock_;
  env::Terminal& terminal_;
  Nanoseconds next_ = 0, shown_at_ = 0;
  double shown_epoch_ = 0;
  std::uint64_t shown_step_ = 0;
  bool drawn_ = false;
  bool begun_ = false;
  std::uint64_t first_step_ = 0; // of this session, for the time left
  double first_seconds_ = 0;
};

} // namespace dlhost::record
