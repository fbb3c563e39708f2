#include "run/session/averages.h"

#include <algorithm>

namespace dlhost::run {
namespace {

// Each name once, in the order of the metrics.
void name_all(const std::vector<program::Metric>& metrics, MetricValues& means) {
  if (!means.empty()) return;
  for (const auto& metric : metrics)
    if (std::ranges::find(means, metric.name, &MetricValues::value_type::first) == means.end())
      means.emplace_back(metric.name, 0.0);
}

} // namespace

void Averages::add(const std::vector<program::Metric>& metrics) {
  sums_.resize(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    sums_[i].sum += metrics[i].last_sum;
    sums_[i].count += metrics[i].last_count;
  }
}

const MetricValues& Averages::read(const std::vector<program::Metric>& metrics) {
  sums_.resize(metrics.size());
  name_all(metrics, means_);
  for (auto& [name, mean] : means_) {
    MetricSum all;
    for (std::size_t i = 0; i < metrics.size(); ++i)
      if (metrics[i].name == name) all.sum += sums_[i].sum, all.count += sums_[i].count;
    mean = all.count > 0 ? all.sum / all.count : 0;
  }
  std::ranges::fill(sums_, MetricSum{});
  return means_;
}

void RecentAverages::add(const std::vector<program::Metric>& metrics) {
  sums_.resize(longest * metrics.size());
  MetricSum* step = sums_.data() + added_++ % longest * metrics.size();
  for (const auto& metric : metrics) *step++ = {metric.last_sum, metric.last_count};
}

void RecentAverages::read(const std::vector<program::Metric>& metrics, std::size_t steps, MetricValues& means) const {
  name_all(metrics, means);
  steps = std::min({steps, added_, longest});
  for (auto& [name, mean] : means) {
    MetricSum all;
    for (std::size_t step = added_ - steps; step < added_; ++step)
      for (std::size_t i = 0; i < metrics.size(); ++i)
        if (metrics[i].name == name) {
          const MetricSum& one = sums_[step % longest * metrics.size() + i];
          all.sum += one.sum, all.count += one.count;
        }
    mean = all.count > 0 ? all.sum / all.count : 0;
  }
}

} // namespace dlhost::run
