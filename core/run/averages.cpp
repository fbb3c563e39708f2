#include "run/averages.h"

#include <algorithm>

namespace dlhost::run {

void Averages::add(const std::vector<program::Metric>& metrics) {
  sums_.resize(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    sums_[i].sum += metrics[i].last_sum;
    sums_[i].count += metrics[i].last_count;
  }
}

const MetricValues& Averages::read(const std::vector<program::Metric>& metrics) {
  sums_.resize(metrics.size());
  if (means_.empty())
    for (const auto& metric : metrics)
      if (std::ranges::find(means_, metric.name, &MetricValues::value_type::first) == means_.end())
        means_.emplace_back(metric.name, 0.0);
  for (auto& [name, mean] : means_) {
    Sum all;
    for (std::size_t i = 0; i < metrics.size(); ++i)
      if (metrics[i].name == name) all.sum += sums_[i].sum, all.count += sums_[i].count;
    mean = all.count > 0 ? all.sum / all.count : 0;
  }
  std::ranges::fill(sums_, Sum{});
  return means_;
}

} // namespace dlhost::run
