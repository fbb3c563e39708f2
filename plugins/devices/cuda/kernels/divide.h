// Division by a number known before the launch, as a multiplication: for divisions of every element.
#pragma once

#include <bit>
#include <cstdint>

#include "body.h"

namespace dlhost::plugins::cuda {

// For numbers from 0 to 2^31 - 1. With p = 31 + ceil(log2 d), ceil(2^p / d) / 2^p is close enough to 1 / d for these.
class Divider {
 public:
  Divider() = default;
  explicit Divider(std::int64_t by) : by_(static_cast<std::int32_t>(by)) {
    if (by_ == 1) return;
    const int bits = std::bit_width(static_cast<std::uint32_t>(by_ - 1));
    factor_ = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + bits)) + static_cast<std::uint64_t>(by_ - 1)) /
                                         static_cast<std::uint64_t>(by_));
    shift_ = bits - 1;
  }
  DLHOST_BODY std::int32_t by() const { return by_; }
  DLHOST_BODY std::int32_t operator()(std::int32_t number) const {
    if (by_ == 1) return number;
#if defined(__CUDA_ARCH__)
    const std::uint32_t high = __umulhi(static_cast<std::uint32_t>(number), factor_);
#else
    const auto high = static_cast<std::uint32_t>(std::uint64_t{static_cast<std::uint32_t>(number)} * factor_ >> 32);
#endif
    return static_cast<std::int32_t>(high >> shift_);
  }
  // Removes and returns the last digit of a number in base `by`.
  DLHOST_BODY std::int32_t last_digit(std::int32_t& number) const {
    const std::int32_t rest = (*this)(number), digit = number - rest * by_;
    number = rest;
    return digit;
  }

 private:
  std::int32_t by_ = 1, shift_ = 0;
  std::uint32_t factor_ = 0;
};

} // namespace dlhost::plugins::cuda
