// Vector loops down the columns of a matrix, neighbouring columns together, for the softmax loss over places. Like
// map/kernels.h: compiled for several instruction sets, allocating nothing. For f32, bf16 and f16.
#pragma once

#include <cstdint>

#include <dlhost/dtype.h>

namespace dlhost::plugins::cpu {

// Rows of `width` elements, `step` apart. y may be x. `room`: f32 rows, `room_step` apart, that keep the powers between
// two kernels; it may be y.
struct Columns {
  const void* x = nullptr;
  void* y = nullptr;
  std::int64_t rows = 0, step = 0, width = 0;
  float* room = nullptr;
  std::int64_t room_step = 0;
};

// Numbers by column are arrays of `width`.
struct ColumnKernels {
  // most = the larger of most and the column's largest x; totals, unless null, += the sum of x.
  void (*largest)(DType, const Columns&, float* most, float* totals);
  // room = exp(x - most); sums += their sum.
  void (*powers)(DType, const Columns&, const float* most, float* sums);
  // y = room * scale.
  void (*finish)(DType, const Columns&, const float* scale);
  // y = factor * (x - spread), and 0 where factor is 0.
  void (*slopes)(DType, const Columns&, const float* factor, float spread);
};

const ColumnKernels& column_kernels();

} // namespace dlhost::plugins::cpu
