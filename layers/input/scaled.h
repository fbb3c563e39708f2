// (x - mean) * scale, converted to f32: an option of most sources besides the unchanged values.
#pragma once

#include <cstddef>

namespace dlhost::input {

struct Scaling {
  float mean = 0, scale = 1;
  bool any() const { return mean != 0 || scale != 1; }
};

template <class T> void to_float(const T* src, float* dst, std::size_t count, Scaling scaling) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = (static_cast<float>(src[i]) - scaling.mean) * scaling.scale;
}

} // namespace dlhost::input
