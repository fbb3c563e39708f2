#include "program/loss_scale.h"

namespace dlhost::program {
namespace {

constexpr std::uint64_t long_enough = 2000; // steps until the doubled scale is tried
constexpr double most = 1 << 24;

} // namespace

void LossScale::went_well() {
  if (++state_.went_well < long_enough || state_.value >= most) return;
  state_.went_well = 0;
  state_.value *= 2;
}

Status LossScale::overflowed(std::uint64_t step) {
  ++state_.skipped;
  state_.went_well = 0;
  if (state_.value <= 1)
    return Status::cancelled("a gradient is not finite in f16 in step ", step,
                             ", though gradients are not scaled any more; bf16 has the range of f32");
  state_.value /= 2;
  return {};
}

} // namespace dlhost::program
