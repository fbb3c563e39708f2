// Means of a program's metrics: over all added steps, and over the last of them. After the first step nothing is
// allocated.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace dlhost::run {

using MetricValues = std::vector<std::pair<std::string, double>>;

// The sum of a metric over some steps.
struct MetricSum {
  double sum = 0, count = 0;
};

class Averages {
 public:
  void add(const std::vector<program::Metric>&); // of the step just done
  // The means by name (a metric may come from several frames), 0 if nothing was counted. Resets the sums.
  const MetricValues& read(const std::vector<program::Metric>&);

 private:
  std::vector<MetricSum> sums_; // in the order of the program's metrics
  MetricValues means_;
};

// Means over the last steps, at most a hundred. Several readers are possible: reading resets nothing.
class RecentAverages {
 public:
  static constexpr std::size_t longest = 100;
  void add(const std::vector<program::Metric>&);
  // Writes the means over the last `steps` steps to `means`.
  void read(const std::vector<program::Metric>&, std::size_t steps, MetricValues& means) const;

 private:
  std::vector<MetricSum> sums_; // a ring of steps, each in the order of the program's metrics
  std::size_t added_ = 0;
};

} // namespace dlhost::run
