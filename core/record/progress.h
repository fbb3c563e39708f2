// The display of a running run. On a terminal: one line, redrawn at most ten times a second. In a file or a pipe: a
// line about every five seconds and at each end of an epoch. Evaluations print a line in both. Thread: one. Between
// lines a call only reads the clock and allocates nothing.
#pragma once

#include <string>

#include <dlhost/host.h>

#include "env/terminal.h"
#include "record/report.h"

namespace dlhost::record {

class Progress {
 public:
  // Requires: both outlive this object.
  Progress(Clock&, env::Terminal&);

  // Whether step() would show something now: the caller reads costly metrics only then. In a file or a pipe the end of
  // an epoch is shown as well, at most one a second.
  bool due(double epoch);
  void step(const StepReport&); // call after each step; shows it if due
  void evaluation(const EvaluationReport&);
  // Clears the line before another writer uses the terminal. The next due step draws it again.
  void interrupt();
  // Shows the last state. Call last.
  void finish(const StepReport&);

 private:
  void show(const StepReport&);
  void draw(const StepReport&);
  double seconds_left(const StepReport&) const; // negative: unknown

  Clock& clock_;
  env::Terminal& terminal_;
  Nanoseconds next_ = 0, shown_at_ = 0;
  double shown_epoch_ = 0;
  std::uint64_t shown_step_ = 0;
  bool drawn_ = false;
  bool begun_ = false;
  std::uint64_t first_step_ = 0; // first step of this session, for the time left
  double first_seconds_ = 0;
};

} // namespace dlhost::record
