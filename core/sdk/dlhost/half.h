// Conversion between float and the two 16-bit floating-point types. Rounds to nearest, ties to even; NaN stays NaN.
#pragma once

#include <bit>
#include <cmath>
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

constexpr std::uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

inline std::uint16_t f16_of_float(float value) {
  const auto sign = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U & 0x8000U);
  const float size = std::abs(value);
  if (value != value) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);
  // Below 2^-14 the step is 2^-24; above, the fraction has ten bits. nearbyint rounds ties to even.
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = size < 0x1p-14F ? -24 : exponent - 11;
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -unit)));
  if (unit == -24) return static_cast<std::uint16_t>(sign | steps);
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(unit + 24) * 1024 + steps));
}

} // namespace dlhost
