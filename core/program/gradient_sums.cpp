#include "program/gradient_sums.h"

namespace dlhost::program {
namespace {

// A sum takes some tens of microseconds even if small, and sums start one after the other.
constexpr std::int64_t enough = std::int64_t{1} << 20; // elements that start a sum

} // namespace

Result<std::unique_ptr<GradientSums>> GradientSums::make(Device& device, Stream& computing, param::DeviceSums& others,
                                                         std::size_t most) {
  std::unique_ptr<GradientSums> sums(new GradientSums(computing, others));
  DLHOST_ASSIGN(sums->stream_, device.stream());
  DLHOST_ASSIGN(sums->made_, device.event());
  DLHOST_ASSIGN(sums->summed_, device.event());
  sums->rows_.reserve(most);
  return sums;
}

Status GradientSums::add(void* values, std::int64_t count) {
  rows_.push_back({values, count});
  elements_ += count;
  return elements_ >= enough ? start() : Status();
}

Status GradientSums::start() {
  if (rows_.empty()) return {};
  Peers& peers = others_.peers();
  const auto ready = [&] { return peers.ready(); };
  DLHOST_TRY(computing_.record(*made_));
  DLHOST_TRY(stream_->wait_for(*made_));
  DLHOST_TRY(others_.wait_for_device(ready));
  peers.sum_rows(*stream_, rows_);
  under_way_ = true;
  DLHOST_TRY(others_.wait_for_device(ready));
  rows_.clear();
  elements_ = 0;
  return {};
}

// Waits for this worker's own computing, which does not count as waiting for others.
Status GradientSums::until_computed() {
  while (true) {
    DLHOST_ASSIGN(const bool passed, made_->passed());
    if (passed) return {};
    DLHOST_TRY(others_.progress());
  }
}

// An error among the devices leaves sums that never end; only the peers report it.
Status GradientSums::finish() {
  DLHOST_TRY(start());
  if (!under_way_) return {};
  DLHOST_TRY(until_computed());
  DLHOST_TRY(stream_->record(*summed_));
  DLHOST_TRY(others_.wait_for_device([&]() -> Result<bool> {
    DLHOST_ASSIGN(const bool given, others_.peers().ready());
    return given ? summed_->passed() : Result<bool>(false);
  }));
  under_way_ = false;
  return stream_->wait(); // for its errors: the sums are done
}

void GradientSums::give_up() noexcept {
  if (under_way_ || !rows_.empty()) others_.peers().abandon();
}

} // namespace dlhost::program
