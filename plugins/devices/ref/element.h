// Elements of every dtype as numbers to compute with: bf16 and f16 are rounded to nearest, ties to even; integers too,
// and kept inside their range.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <dlhost/dtype.h>

namespace dlhost::plugins::ref {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

inline float to_float(Bf16 stored) { return std::bit_cast<float>(std::uint32_t{stored.bits} << 16); }

inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

inline float to_float(F16 stored) {
  const unsigned exponent = (stored.bits >> 10) & 31U, fraction = stored.bits & 1023U;
  const float sign = (stored.bits & 0x8000U) ? -1.0F : 1.0F;
  if (exponent == 31) return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * static_cast<float>(fraction) * 0x1p-24F;
  return sign * std::ldexp(static_cast<float>(fraction + 1024), static_cast<int>(exponent) - 25);
}

inline F16 to_f16(float value) {
  const auto sign = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) >> 16) & 0x8000U);
  const float size = std::abs(value);
  if (value != value) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
  if (size >= 65520.0F) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  // Below 2^-14 the steps are 2^-24; above, the fraction has ten bits. nearbyint rounds ties to even.
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = size < 0x1p-14F ? -24 : exponent - 11;
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -unit)));
  if (unit == -24) return {static_cast<std::uint16_t>(sign | steps)};
  return {static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(unit + 24) * 1024 + steps))};
}

template <class T, class Stored> T loaded(Stored stored) {
  if constexpr (std::is_same_v<Stored, Bf16> || std::is_same_v<Stored, F16>)
    return static_cast<T>(to_float(stored));
  else
    return static_cast<T>(stored);
}

template <class Stored, class T> Stored stored(T value) {
  if constexpr (std::is_same_v<Stored, Bf16>) {
    return to_bf16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<Stored, F16>) {
    return to_f16(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<Stored> && std::is_floating_point_v<T>) {
    if (value != value) return 0;
    const T whole = std::nearbyint(value);
    if (whole <= static_cast<T>(std::numeric_limits<Stored>::min())) return std::numeric_limits<Stored>::min();
    if (whole >= static_cast<T>(std::numeric_limits<Stored>::max())) return std::numeric_limits<Stored>::max();
    return static_cast<Stored>(whole);
  } else {
    return static_cast<Stored>(value);
  }
}

// call(Stored{}) with the type that a dtype is stored as.
template <class Call> void with_stored(DType type, Call&& call) {
  switch (type) {
  case DType::f32: return call(float{});
  case DType::f64: return call(double{});
  case DType::bf16: return call(Bf16{});
  case DType::f16: return call(F16{});
  case DType::i64: return call(std::int64_t{});
  case DType::i32: return call(std::int32_t{});
  case DType::i8: return call(std::int8_t{});
  case DType::u8: return call(std::uint8_t{});
  }
}

} // namespace dlhost::plugins::ref
