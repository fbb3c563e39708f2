// Follows a training: for the commands, benchmarks and tests that run it. Thread: the training's.
#pragma once

#include <vector>

#include "run/coordinator/workers.h"
#include "run/session/evaluation.h"
#include "run/session/progress.h"

namespace dlhost::run {

class Observer {
 public:
  virtual ~Observer() = default;
  // Called after each step: must be cheap unless it prints. The program has the running metrics.
  virtual Status on_step(const Progress&, program::Program&) = 0;
  // With several workers: if true after a step, on_workers() is called with the workers' reports.
  virtual bool asks_after_workers() { return false; }
  virtual Status on_workers(const Progress&, std::vector<record::WorkerReport>) { return {}; }
  virtual Status on_evaluation(const Progress&, Phase, const Evaluation&) = 0;
};

} // namespace dlhost::run
