// One pass over all samples of a phase, each counted once.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "run/session.h"

namespace dlhost::run {

using MetricValues = std::vector<std::pair<std::string, double>>;

struct Evaluation {
  MetricValues metrics; // empty: the phase has no samples
  std::int64_t samples = 0;
  double seconds = 0;
};

// `on_batch` sees the program after each batch, with the batch: for predictions.
using OnBatch = std::function<Status(program::Program&, const program::BatchView&)>;
Result<Evaluation> evaluate(Session&, Phase, const std::vector<std::string>& kept = {}, const OnBatch& on_batch = {});

// The means of a program's metrics since they were reset. `values` is empty, or what the same program gave before: then
// nothing is allocated.
void read_means(const std::vector<program::Metric>&, MetricValues& values);

} // namespace dlhost::run
