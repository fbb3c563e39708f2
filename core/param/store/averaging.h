// An updater that keeps, beside what another one does, an average of each param's values: one more history slot, so
// that servers, devices and checkpoints have it as they have momentum.
#pragma once

#include <memory>
#include <string_view>

#include <dlhost/updater.h>

namespace dlhost::param {

class Averaging final : public Updater {
 public:
  static constexpr std::string_view slot = "average"; // its name in checkpoints

  // `share` of the old average stays in the new one. Until 1 / (1 - share) updates are made it is the plain mean of all
  // values so far, so that it does not remember where training began.
  Averaging(std::unique_ptr<Updater> updater, double share) : updater_(std::move(updater)), share_(share) {}

  Rule rule() const override;
  void scalars(const When&, std::span<const double> sums, std::span<float> own) const override;

 private:
  std::unique_ptr<Updater> updater_;
  double share_;
};

} // namespace dlhost::param
