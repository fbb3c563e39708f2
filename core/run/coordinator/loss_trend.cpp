#include "run/coordinator/loss_trend.h"

#include <nlohmann/json.hpp>

namespace dlhost::run {

void LossTrend::add(const std::vector<program::Metric>& metrics) {
  for (const auto& metric : metrics)
    if (metric.is_loss && metric.last_count > 0) {
      const double loss = metric.last_sum / metric.last_count;
      if (!has_loss_) first_ = loss;
      smoothed_ = has_loss_ ? 0.98 * smoothed_ + 0.02 * loss : loss;
      has_loss_ = true;
      return;
    }
}

std::optional<LossTrend::Rise> LossTrend::rise(std::uint64_t steps) const {
  constexpr std::uint64_t enough_steps = 20; // with fewer, the loss depends more on the batches than on the training
  constexpr double more_than_noise = 1.05;
  if (first_ && steps >= enough_steps && smoothed_ > more_than_noise * *first_) return Rise{*first_, smoothed_};
  return {};
}

void LossTrend::write(nlohmann::json& training) const {
  training["has_loss"] = has_loss_;
  training["smoothed_loss"] = smoothed_;
}

void LossTrend::read(const nlohmann::json& training) {
  smoothed_ = training.at("smoothed_loss");
  has_loss_ = training.at("has_loss");
}

} // namespace dlhost::run
