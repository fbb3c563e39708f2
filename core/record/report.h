// The reports of a running run: plain data, filled by the run loop, read by progress and the logs. The spans are valid
// only during the call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "record/table.h"

namespace dlhost::record {

// A metric and its layer's name: {"loss", 0.25}.
using Metric = std::pair<std::string, double>;
using Metrics = std::span<const Metric>;

// The state of training after a step.
struct StepReport {
  std::uint64_t step = 0;        // steps done; 1 in the first report
  std::uint64_t total_steps = 0; // the run's last step; 0: unknown
  double epoch = 0;              // passes over the training data, with a fraction
  double seconds = 0;            // training time so far, including earlier sessions of a resumed run
  Metrics metrics;               // means since the previous reading
  double items_per_second = 0;   // over the same steps
  double rate = 0;               // the learning rate of the step
};

// The result of an evaluation.
struct EvaluationReport {
  std::string_view phase; // "validation" or "test"
  std::uint64_t step = 0; // the training step of the evaluated params
  double epoch = 0;
  double seconds = 0; // as in StepReport
  Metrics metrics;
  std::span<const Table> tables;
  double items_per_second = 0;
};

} // namespace dlhost::record
