// The two floating-point types of 16 bits as floats.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace dlhost {

constexpr float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

constexpr float float_of_f16(std::uint16_t bits) {
  const unsigned exponent = bits >> 10U & 31U, fraction = bits & 1023U;
  float value = static_cast<float>(fraction) * 0x1p-24F; // a subnormal
  if (exponent == 31)
    value = fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  else if (exponent > 0)
    value = std::bit_cast<float>((exponent + 112U) << 23U | fraction << 13U);
  return (bits & 0x8000U) ? -value : value;
}

} // namespace dlhost
