// Elements of every dtype as numbers: integers are rounded to nearest, ties to even, and clamped to their range.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <dlhost/dtype.h>
#include <dlhost/half.h>

namespace dlhost::plugins::ref {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

inline float to_float(Bf16 stored) { return float_of_bf16(stored.bits); }
inline float to_float(F16 stored) { return float_of_f16(stored.bits); }

template <class T, class Stored> T loaded(Stored stored) {
  if constexpr (std::is_same_v<Stored, Bf16> || std::is_same_v<Stored, F16>)
    return static_cast<T>(to_float(stored));
  else
    return static_cast<T>(stored);
}

template <class Stored, class T> Stored stored(T value) {
  if constexpr (std::is_same_v<Stored, Bf16>) {
    return {bf16_of_float(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<Stored, F16>) {
    return {f16_of_float(static_cast<float>(value))};
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

// Calls call(Stored{}) with a dtype's storage type.
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
