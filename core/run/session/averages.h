// Means of a program's metrics: over all steps that were added, and over the last of them. After the first step adding
// and reading allocate nothing.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace dlhost::run {

using MetricValues = std::vector<std::pair<std::string, double>>;

// Of a metric, in some steps.
struct MetricSum {
  double sum = 0, count = 0;
};

class Averages {
 public:
  void add(const std::vector<program::Metric>&); // of the step just done
  // By name: a metric may come from several frames. Starts anew; 0 where nothing was counted.
  const MetricValues& read(const std::vector<program::Metric>&);

 private:
  std::vector<MetricSum> sums_; // as the program's metrics
  MetricValues means_;
};

// Of the last steps, a hundred at most. Several may read: nothing starts anew.
class RecentAverages {
 public:
  static constexpr std::size_t longest = 100;
  void add(const std::vector<program::Metric>&);
  // Over the last so many steps, into `means`.
  void read(const std::vector<program::Metric>&, std::size_t steps, MetricValues& means) const;

 private:
  std::vector<MetricSum> sums_; // a ring of steps, each as the program's metrics
  std::size_t added_ = 0;
};

} // namespace dlhost::run
