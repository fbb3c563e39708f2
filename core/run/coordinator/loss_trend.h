// The loss of a training, smoothed over about fifty steps: for the stop at a loss, and for the remark that the loss has
// risen. Owns: the smoothed loss, which checkpoints keep.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "program/step_results.h"

namespace dlhost::run {

class LossTrend {
 public:
  // Takes the first loss among a step's metrics.
  void add(const std::vector<program::Metric>&);
  bool is_at_most(double loss) const { return has_loss_ && smoothed_ <= loss; }
  double smoothed() const { return smoothed_; }

  struct Rise {
    double from = 0, to = 0;
  };
  // From the first step to the last ones. None: it has not risen, there were few steps, or the run was resumed.
  std::optional<Rise> rise(std::uint64_t steps) const;

  // Its part of a checkpoint.
  void write(nlohmann::json& training) const;
  void read(const nlohmann::json& training);

 private:
  double smoothed_ = 0;
  bool has_loss_ = false;
  std::optional<double> first_; // none: the run was resumed
};

} // namespace dlhost::run
