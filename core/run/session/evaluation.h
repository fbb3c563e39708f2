// One pass over all samples of a phase, each counted once.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "run/session/averages.h"
#include "run/session/session.h"

namespace dlhost::run {

struct Evaluation {
  MetricValues metrics;            // empty: the phase has no samples
  std::vector<std::string> rising; // names of those that are better high
  std::vector<record::Table> tables;
  std::int64_t samples = 0;
  double seconds = 0;
};

// `on_batch` sees the program after each batch, with the batch: for predictions.
using OnBatch = std::function<Status(program::Program&, const program::BatchView&)>;
Result<Evaluation> evaluate(Session&, Phase, const std::vector<std::string>& kept = {}, const OnBatch& on_batch = {});

} // namespace dlhost::run
