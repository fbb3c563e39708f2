// The means of a program's metrics over the steps since they were last read. Each reader has its own, so that what one
// shows does not change what another writes down. After the first step adding and reading allocate nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace dlhost::run {

using MetricValues = std::vector<std::pair<std::string, double>>;

class Averages {
 public:
  void add(const std::vector<program::Metric>&); // of the step just done
  // By name: a metric may come from several frames. Starts anew; 0 where nothing was counted.
  const MetricValues& read(const std::vector<program::Metric>&);

 private:
  struct Sum {
    double sum = 0, count = 0;
  };
  std::vector<Sum> sums_; // as the program's metrics
  MetricValues means_;
};

} // namespace dlhost::run
