// Elements of every dtype as numbers, as in ref: integers are rounded to nearest, ties to even, and clamped to their
// range.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <dlhost/dtype.h>
#include <dlhost/half.h>

#include "body.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace dlhost::plugins::cuda {

DLHOST_BODY std::uint16_t f16_bits(float value) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(value));
#else
  return f16_of_float(value);
#endif
}

DLHOST_BODY float f16_value(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(bits));
#else
  return float_of_f16(bits);
#endif
}

DLHOST_BODY std::uint16_t bf16_bits(float value) {
#if defined(__CUDA_ARCH__)
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  return bf16_of_float(value);
#endif
}

// For divisions by a root in every element of a column: error within two units in the last place on a GPU.
DLHOST_BODY float inverse_root(float value) {
#if defined(__CUDA_ARCH__)
  return rsqrtf(value);
#else
  return 1 / std::sqrt(value);
#endif
}

template <class T> DLHOST_BODY T load_as(DType type, const void* from, std::int64_t i) {
  switch (type) {
  case DType::f32: return static_cast<T>(static_cast<const float*>(from)[i]);
  case DType::f64: return static_cast<T>(static_cast<const double*>(from)[i]);
  case DType::bf16: return static_cast<T>(float_of_bf16(static_cast<const std::uint16_t*>(from)[i]));
  case DType::f16: return static_cast<T>(f16_value(static_cast<const std::uint16_t*>(from)[i]));
  case DType::i64: return static_cast<T>(static_cast<const std::int64_t*>(from)[i]);
  case DType::i32: return static_cast<T>(static_cast<const std::int32_t*>(from)[i]);
  case DType::i8: return static_cast<T>(static_cast<const std::int8_t*>(from)[i]);
  case DType::u8: return static_cast<T>(static_cast<const std::uint8_t*>(from)[i]);
  }
  return T{};
}

template <class Whole, class T> DLHOST_BODY Whole whole_number(T value) {
  if (value != value) return 0;
  const T whole = std::nearbyint(value);
  if (whole <= static_cast<T>(std::numeric_limits<Whole>::min())) return std::numeric_limits<Whole>::min();
  if (whole >= static_cast<T>(std::numeric_limits<Whole>::max())) return std::numeric_limits<Whole>::max();
  return static_cast<Whole>(whole);
}

template <class T> DLHOST_BODY void store_as(DType type, void* to, std::int64_t i, T value) {
  switch (type) {
  case DType::f32: static_cast<float*>(to)[i] = static_cast<float>(value); return;
  case DType::f64: static_cast<double*>(to)[i] = static_cast<double>(value); return;
  case DType::bf16: static_cast<std::uint16_t*>(to)[i] = bf16_bits(static_cast<float>(value)); return;
  case DType::f16: static_cast<std::uint16_t*>(to)[i] = f16_bits(static_cast<float>(value)); return;
  case DType::i64: static_cast<std::int64_t*>(to)[i] = whole_number<std::int64_t>(value); return;
  case DType::i32: static_cast<std::int32_t*>(to)[i] = whole_number<std::int32_t>(value); return;
  case DType::i8: static_cast<std::int8_t*>(to)[i] = whole_number<std::int8_t>(value); return;
  case DType::u8: static_cast<std::uint8_t*>(to)[i] = whole_number<std::uint8_t>(value); return;
  }
}

DLHOST_BODY float load(DType type, const void* from, std::int64_t i) { return load_as<float>(type, from, i); }
DLHOST_BODY void store(DType type, void* to, std::int64_t i, float value) { store_as<float>(type, to, i, value); }

// A tensor of any dtype to read, and one to write.
struct Source {
  const void* data = nullptr;
  DType type = DType::f32;
  DLHOST_BODY float operator[](std::int64_t i) const { return load(type, data, i); }
};
struct Target {
  void* data = nullptr;
  DType type = DType::f32;
  DLHOST_BODY void set(std::int64_t i, float value) const { store(type, data, i, value); }
};

} // namespace dlhost::plugins::cuda
