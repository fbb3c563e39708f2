#include "program/gradient_sums.h"

namespace dlhost::program {
namespace {

// A sum takes some tens of microseconds, however small it is; and the next one waits until one has begun.
constexpr std::int64_t enough = std::int64_t{1} << 20; // elements that begin together

} // namespace

Result<std::unique_ptr<Summing>> Summing::make(Device& device, Stream& computing, param::DeviceSums& others,
                                               std::size_t most) {
  std::unique_ptr<Summing> summing(new Summing(computing, others));
  DLHOST_ASSIGN(summing->stream_, device.stream());
  DLHOST_ASSIGN(summing->made_, device.event());
  DLHOST_ASSIGN(summing->summed_, device.event());
  summing->rows_.reserve(most);
  return summing;
}

Status Summing::add(void* values, std::int64_t count) {
  rows_.push_back({values, count});
  elements_ += count;
  return elements_ >= enough ? start() : Status();
}

Status Summing::start() {
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

// This worker's own computing, which is no waiting for others.
Status Summing::until_computed() {
  while (true) {
    DLHOST_ASSIGN(const bool passed, made_->passed());
    if (passed) return {};
    DLHOST_TRY(others_.progress());
  }
}

// An error among the devices leaves sums that never end, and only peers know of it.
Status Summing::finish() {
  DLHOST_TRY(start());
  if (!under_way_) return {};
  DLHOST_TRY(until_computed());
  DLHOST_TRY(stream_->record(*summed_));
  DLHOST_TRY(others_.wait_for_device([&]() -> Result<bool> {
    DLHOST_ASSIGN(const bool given, others_.peers().ready());
    return given ? summed_->passed() : Result<bool>(false);
  }));
  under_way_ = false;
  return stream_->wait(); // for its errors: nothing is left to be done
}

void Summing::give_up() noexcept {
  if (under_way_ || !rows_.empty()) others_.peers().abandon();
}

} // namespace dlhost::program
