// What a run tells while it goes on: plain data, filled by the run loop, read by progress and the logs. Nobody keeps
// what it is given: spans need to live only as long as the call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "record/table.h"

namespace dlhost::record {

// A metric by its layer's name: {"loss", 0.25}.
using Metric = std::pair<std::string, double>;
using Metrics = std::span<const Metric>;

// The state of training after a step.
struct StepReport {
  std::uint64_t step = 0;        // steps done, so the first report says 1
  std::uint64_t total_steps = 0; // where the run will stop; 0 when nobody knows
  double epoch = 0;              // passes over the training data, with a fraction
  double seconds = 0;            // spent training so far, earlier sessions of a resumed run included
  Metrics metrics;               // means over the steps since they were last read
  double items_per_second = 0;   // over the same steps
  double rate = 0;               // the learning rate of the step
};

// What an evaluation found.
struct EvaluationReport {
  std::string_view phase; // "validation" or "test"
  std::uint64_t step = 0; // the training step whose params were looked at
  double epoch = 0;
  double seconds = 0; // as in StepReport
  Metrics metrics;
  std::span<const Table> tables;
  double items_per_second = 0;
};

} // namespace dlhost::record
