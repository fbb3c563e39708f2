// Wraps an updater and keeps an average of each param's values. The average is one more history slot, so servers,
// devices and checkpoints treat it like momentum.
#pragma once

#include <memory>
#include <string_view>

#include <dlhost/updater.h>

namespace dlhost::param {

class Averaging final : public Updater {
 public:
  static constexpr std::string_view slot = "average"; // the slot's name in checkpoints

  // `share` is the weight of the old average in the new one. For the first 1 / (1 - share) updates it is the plain mean
  // of all values, so that the initial values do not linger.
  Averaging(std::unique_ptr<Updater> updater, double share) : updater_(std::move(updater)), share_(share) {}

  Rule rule() const override;
  void scalars(const When&, std::span<const double> sums, std::span<float> own) const override;

 private:
  std::unique_ptr<Updater> updater_;
  double share_;
};

} // namespace dlhost::param
