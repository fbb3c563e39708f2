// Vector loops over rows of f32, for softmax and its loss. Like map/kernels.h: compiled for several instruction sets,
// allocating nothing.
#pragma once

#include <cstdint>

namespace dlhost::plugins::cpu {

struct RowKernels {
  // p = softmax(x); returns log(sum exp x). p may be x. `sum`, unless null, gets the sum of x.
  float (*softmax)(const float* x, float* p, std::int64_t count, float* sum);
  // dx = factor * (p - spread). dx may be p.
  void (*softmax_gradient)(const float* p, float* dx, std::int64_t count, float factor, float spread);
};

const RowKernels& row_kernels();

} // namespace dlhost::plugins::cpu
