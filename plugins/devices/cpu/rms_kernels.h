// Vector loops over rows of f32, bf16 or f16, for RMS norm. Like map/kernels.h: compiled for several instruction sets,
// allocating nothing.
#pragma once

#include <cstdint>

#include <dlhost/dtype.h>

namespace dlhost::plugins::cpu {

struct RmsKernels {
  // The sum of x^2.
  float (*squares)(DType, const void* x, std::int64_t count);
  // y = x * scale * factor. y may be x.
  void (*apply)(DType, const void* x, const float* scale, float factor, void* y, std::int64_t count);
  // The sum of dy * scale * x; dscale += dy * x * factor.
  float (*slopes)(DType, const void* x, const void* dy, const float* scale, float factor, float* dscale,
                  std::int64_t count);
  // dx = dy * scale * factor + x * by_x. dx may be x or dy.
  void (*gradient)(DType, const void* x, const void* dy, const float* scale, float factor, float by_x, void* dx,
                   std::int64_t count);
};

const RmsKernels& rms_kernels();

} // namespace dlhost::plugins::cpu
