#include "values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <dlhost/random.h>

namespace dlhost::conform {

namespace {

// Rounds to `bits` bits of significand (including the hidden one), with exponents from `lowest` on; ties to even.
double to_bits(double value, int bits, int lowest, double limit) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - bits, lowest));
  const double near = std::nearbyint(value / unit) * unit;
  return std::abs(near) > limit ? std::copysign(INFINITY, value) : near;
}

double round_to(double value, DType type) {
  switch (type) {
  case DType::f64: return value;
  case DType::f32: return static_cast<float>(value);
  case DType::bf16: return to_bits(value, 8, -133, 0x1.fep127);
  case DType::f16: return to_bits(value, 11, -24, 65504);
  default: break;
  }
  const int bits = static_cast<int>(size_of(type)) * 8;
  const double low = type == DType::u8 ? 0 : -std::ldexp(1.0, bits - 1);
  const double high = type == DType::u8 ? 255 : std::ldexp(1.0, bits - 1) - 1;
  return std::clamp(std::nearbyint(value), low, high);
}

std::uint16_t f16_code(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(value);
  if (std::isnan(value)) return 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (size < 0x1p-14) return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(size, 24)));
  const int exponent = std::ilogb(size);
  const int fraction = static_cast<int>(std::ldexp(size, 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | fraction);
}

double f16_value(std::uint16_t code) {
  const int exponent = (code >> 10) & 31, fraction = code & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction ? NAN : INFINITY)
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return code & 0x8000 ? -size : size;
}

template <class T> void put(std::byte* at, T value) { std::memcpy(at, &value, sizeof value); }
template <class T> T take(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

} // namespace

Values rounded(const Values& values, DType type) {
  Values near(values);
  for (auto& value : near) value = round_to(value, type);
  return near;
}

std::vector<std::byte> plain_bytes(const Values& values, DType type) {
  const std::size_t size = size_of(type);
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::byte* at = bytes.data() + i * size;
    const double value = round_to(values[i], type);
    switch (type) {
    case DType::f64: put(at, value); break;
    case DType::f32: put(at, static_cast<float>(value)); break;
    case DType::bf16: {
      const auto code = std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
      put(at, static_cast<std::uint16_t>(code));
      break;
    }
    case DType::f16: put(at, f16_code(value)); break;
    case DType::i64: put(at, static_cast<std::int64_t>(value)); break;
    case DType::i32: put(at, static_cast<std::int32_t>(value)); break;
    case DType::i8: put(at, static_cast<std::int8_t>(value)); break;
    case DType::u8: put(at, static_cast<std::uint8_t>(value)); break;
    }
  }
  return bytes;
}

Values from_plain_bytes(const std::vector<std::byte>& bytes, DType type) {
  const std::size_t size = size_of(type);
  Values values(bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::byte* at = bytes.data() + i * size;
    switch (type) {
    case DType::f64: values[i] = take<double>(at); break;
    case DType::f32: values[i] = static_cast<double>(take<float>(at)); break;
    case DType::bf16: values[i] = std::bit_cast<float>(std::uint32_t{take<std::uint16_t>(at)} << 16); break;
    case DType::f16: values[i] = f16_value(take<std::uint16_t>(at)); break;
    case DType::i64: values[i] = static_cast<double>(take<std::int64_t>(at)); break;
    case DType::i32: values[i] = take<std::int32_t>(at); break;
    case DType::i8: values[i] = take<std::int8_t>(at); break;
    case DType::u8: values[i] = take<std::uint8_t>(at); break;
    }
  }
  return values;
}

Values uniform(std::uint64_t seed, std::string_view name, std::int64_t count) {
  std::uint32_t stream = 2166136261U; // FNV-1a
  for (const char letter : name) stream = (stream ^ static_cast<unsigned char>(letter)) * 16777619U;
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(draw({seed, stream}, 0, 0, i));
  return values;
}

double epsilon_of(DType type) {
  switch (type) {
  case DType::f64: return std::numeric_limits<double>::epsilon();
  case DType::f32: return std::numeric_limits<float>::epsilon();
  case DType::bf16: return 0x1p-7;
  case DType::f16: return 0x1p-10;
  default: return 0;
  }
}

double largest(const Values& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

} // namespace dlhost::conform
