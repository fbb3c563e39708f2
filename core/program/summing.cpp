#include "program/summing.h"

#include <utility>

namespace dlhost::program {
namespace {

// A sum takes some tens of microseconds, however small it is; and the next one waits until one has begun.
constexpr std::int64_t enough = std::int64_t{1} << 20; // elements that begin together

} // namespace

Result<std::unique_ptr<Summing>> Summing::make(Device& device, Stream& computing, param::Others& others,
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

// Where it cannot be, no stream is left waiting for what will not come.
Status Summing::start() {
  Status status = sum_up();
  if (!status.ok()) others_.peers().abandon();
  return status;
}

Status Summing::sum_up() {
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

Status Summing::finish() {
  DLHOST_TRY(start());
  if (!std::exchange(under_way_, false)) return {};
  DLHOST_TRY(stream_->record(*summed_));
  Status status = others_.wait_for_device([&] { return summed_->passed(); });
  if (!status.ok()) others_.peers().abandon();
  DLHOST_TRY(std::move(status));
  return stream_->wait(); // for its errors: nothing is left to be done
}

} // namespace dlhost::program
