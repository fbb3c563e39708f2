// The factor on all gradients of a net that computes in f16, whose smallest numbers are above many gradients. The
// factor should be as large as possible without overflow, and is found by trial: a step with a gradient that is not
// finite is skipped and the factor halved; after many good steps it is doubled.
#pragma once

#include <cstdint>

#include <dlhost/status.h>

namespace dlhost::program {

class LossScale {
 public:
  // The state saved in checkpoints.
  struct State {
    double value = 65536;
    std::uint64_t went_well = 0; // steps since the last change
    std::uint64_t skipped = 0;   // all skipped steps
    bool operator==(const State&) const = default;
  };

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }
  double value() const { return state_.value; }
  void went_well();
  // The step is skipped. Errors: the factor cannot be halved any more.
  Status overflowed(std::uint64_t step);

 private:
  State state_;
};

} // namespace dlhost::program
