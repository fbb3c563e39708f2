// Vector loops over memory whose rows are some channels wide, for batch norm and group norm. Like map/kernels.h:
// compiled for several instruction sets, allocating nothing. Numbers by column are arrays of the width, at least 16.
#pragma once

#include <cstdint>

#include <dlhost/dtype.h>

namespace dlhost::plugins::cpu {

// Rows of `width` elements, `step` apart, from element `offset` on, in up to three tensors of one layout and dtype.
struct Rows {
  const void* x = nullptr;
  const void* other = nullptr; // the addend; may be null
  void* y = nullptr;
  std::int64_t offset = 0, rows = 0, step = 0, width = 0;
  bool stream = false; // y is larger than the caches and written past them
};

// How the gradient behind a ReLU is found.
enum class Mask : std::uint8_t {
  none,
  from_input,  // x * factor + shift > 0, as in the feature
  from_output, // y > 0
};

struct GradientRows {
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* y = nullptr; // for Mask::from_output
  void* dx = nullptr;
  void* daddend = nullptr; // may be null
  std::int64_t offset = 0, rows = 0, step = 0, width = 0;
  bool stream = false; // dx and daddend are written past the caches
};

struct ChannelKernels {
  // totals += sum of x - pivot, squares += sum of its square, by column.
  void (*moments)(DType, const Rows&, const float* pivot, double* totals, double* squares);
  // y = x * factor + shift (+ other), then a ReLU.
  void (*apply)(DType, const Rows&, const float* factor, const float* shift, bool relu);
  // With g = dy behind the mask: totals += sum of g, products += sum of g * (x - mean).
  void (*slopes)(DType, Mask, const GradientRows&, const float* factor, const float* shift, const float* mean,
                 double* totals, double* products);
  // dx = g * factor + x * by_x + constant; daddend = g.
  void (*gradient)(DType, Mask, const GradientRows&, const float* factor, const float* shift, const float* by_x,
                   const float* constant);
};

const ChannelKernels& channel_kernels();

} // namespace dlhost::plugins::cpu
