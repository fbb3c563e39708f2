// The factor on all gradients of a net that computes in f16, whose least numbers are larger than many a gradient: as
// large as can be without that one overflows. It is found by trying: a step with a gradient that is not finite is not
// made, and the next one is tried with half of it; after many that went well, with twice as much.
#pragma once

#include <cstdint>

#include <dlhost/status.h>

namespace dlhost::program {

class LossScale {
 public:
  // What a run goes on with.
  struct State {
    double value = 65536;
    std::uint64_t went_well = 0; // steps since it was changed
    std::uint64_t skipped = 0;   // steps, in all
    bool operator==(const State&) const = default;
  };

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }
  double value() const { return state_.value; }
  void went_well();
  // The step is not made. Not ok: there is nothing left to halve.
  Status overflowed(std::uint64_t step);

 private:
  State state_;
};

} // namespace dlhost::program
