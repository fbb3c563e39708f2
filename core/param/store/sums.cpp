#include "param/store/sums.h"

#include <algorithm>

namespace dlhost::param {
namespace {

constexpr std::size_t apart = 64; // bytes: no two lie in one cache line

} // namespace

Result<Sums> Sums::make(Device& device, Stream& stream, std::size_t count) {
  Sums sums;
  sums.device_ = &device;
  sums.stream_ = &stream;
  DLHOST_ASSIGN(sums.memory_, Memory::make(device, apart * count));
  for (std::size_t i = 0; i < count; ++i) sums.places_.push_back(sums.memory_.data() + i * apart);
  sums.read_.resize(count);
  sums.values_.resize(count);
  return sums;
}

Result<std::span<const double>> Sums::read(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    DLHOST_TRY(device_->copy(*stream_, &read_[i], places_[i], sizeof(float), Direction::to_host));
  DLHOST_TRY(stream_->wait());
  std::copy_n(read_.begin(), count, values_.begin());
  return std::span<const double>(values_).first(count);
}

} // namespace dlhost::param
