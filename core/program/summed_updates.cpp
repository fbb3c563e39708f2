#include "program/summed_updates.h"

namespace dlhost::program {

SummedUpdates::SummedUpdates(LocalUpdates::Setup setup, std::vector<Gradient> gradients,
                             std::unique_ptr<GradientSums> sums, param::DeviceSums& others)
    : local_(std::move(setup)), gradients_(std::move(gradients)), sums_(std::move(sums)), others_(others) {
  unsettled_.reserve(gradients_.size());
}

Status SummedUpdates::add(std::uint32_t update, const StepInfo&) {
  unsettled_.push_back(update);
  return sums_->add(gradients_[update].data, gradients_[update].count);
}

Status SummedUpdates::settle(const StepInfo& info) {
  DLHOST_TRY(sums_->finish());
  for (const std::uint32_t update : unsettled_)
    if (!local_.waits_for_all())
      DLHOST_TRY(local_.timings().timed(local_.step_of(update), [&] { return local_.add(update, info); }));
  unsettled_.clear();
  return {};
}

Status SummedUpdates::end_step(const StepInfo& info) {
  DLHOST_TRY(settle(info));
  return local_.end_step(info);
}

void SummedUpdates::abandon() {
  sums_->give_up();
  unsettled_.clear();
}

} // namespace dlhost::program
