// Contiguous elements, read and written as one: the types that nets compute in, as floats.
#pragma once

#include <cstdint>

#include <dlhost/dtype.h>
#include <dlhost/half.h>

#include "body.h"
#include "number.h"

namespace dlhost::plugins::cuda {

struct F32 {
  using Bits = float;
  static DLHOST_BODY float value(Bits bits) { return bits; }
  static DLHOST_BODY Bits bits(float value) { return value; }
};
struct Bf16 {
  using Bits = std::uint16_t;
  static DLHOST_BODY float value(Bits bits) { return float_of_bf16(bits); }
  static DLHOST_BODY Bits bits(float value) { return bf16_bits(value); }
};
struct F16 {
  using Bits = std::uint16_t;
  static DLHOST_BODY float value(Bits bits) { return f16_value(bits); }
  static DLHOST_BODY Bits bits(float value) { return f16_bits(value); }
};

// `width` elements: one load or store for each 16 bytes, aligned to 16 bytes (see Width).
template <class Bits, int width> struct alignas(sizeof(Bits) * width < 16 ? sizeof(Bits) * width : 16) Together {
  Bits at[width];
};

template <int width> struct Floats { float at[width]; };

template <class T, int width>
DLHOST_BODY Together<typename T::Bits, width> read_some(const void* from, std::int64_t first) {
  return *reinterpret_cast<const Together<typename T::Bits, width>*>(static_cast<const typename T::Bits*>(from) +
                                                                     first);
}

template <class T, int width> DLHOST_BODY Floats<width> values_of(const Together<typename T::Bits, width>& read) {
  Floats<width> values;
  for (int i = 0; i < width; ++i) values.at[i] = T::value(read.at[i]);
  return values;
}

template <class T, int width> DLHOST_BODY Floats<width> load_some(const void* from, std::int64_t first) {
  return values_of<T, width>(read_some<T, width>(from, first));
}

template <class T, int width> DLHOST_BODY void store_some(void* to, std::int64_t first, const Floats<width>& values) {
  Together<typename T::Bits, width> made;
  for (int i = 0; i < width; ++i) made.at[i] = T::bits(values.at[i]);
  *reinterpret_cast<Together<typename T::Bits, width>*>(static_cast<typename T::Bits*>(to) + first) = made;
}

// Calls with the type and the width that columns of `length` elements may be read by: call(F32{}, Width<4>{}), at most
// `most` and 16 bytes; or 1 if a row's length or an address does not allow it. False: another type.
template <int width> struct Width { static constexpr int value = width; };
template <int most, class Call>
bool by_type_and_width(DType type, std::int64_t length, std::initializer_list<const void*> tensors, const Call& call) {
  const auto fits = [&](std::int64_t width) {
    bool aligned = length % width == 0;
    for (const void* tensor : tensors)
      aligned =
          aligned && reinterpret_cast<std::uintptr_t>(tensor) % (static_cast<std::size_t>(width) * size_of(type)) == 0;
    return aligned;
  };
  const auto by_width = [&](auto t, auto wide) {
    if (fits(decltype(wide)::value))
      call(t, wide);
    else
      call(t, Width<1>{});
  };
  switch (type) {
  case DType::f32: by_width(F32{}, Width<4>{}); return true;
  case DType::bf16: by_width(Bf16{}, Width<most>{}); return true;
  case DType::f16: by_width(F16{}, Width<most>{}); return true;
  default: return false;
  }
}

} // namespace dlhost::plugins::cuda
