// The building blocks of kernel bodies. A body is a function of one item, or a sum over terms, that also compiles as
// plain C++: the plugin runs it on the GPU, and a test compares it on the host with ref.
//
//   struct Twice {
//     const float* x;
//     float* y;
//     DLHOST_BODY void operator()(std::int64_t i) const { y[i] = 2 * x[i]; }
//   };
//   each(stream, count, Twice{x, y});
//
// No body writes what another item of the same launch reads, and none uses atomics on results: each run gives the same
// bits.
#pragma once

#include <cstdint>

#include <dlhost/tensor.h>

#if defined(__CUDACC__)
#define DLHOST_BODY __host__ __device__ inline
#define DLHOST_UNROLL _Pragma("unroll")
#else
#define DLHOST_BODY inline
#define DLHOST_UNROLL
#endif

namespace dlhost::plugins::cuda {

// A fault in an op's data. Kernels write it to the stream's place; wait() reports it.
struct Fault {
  enum What : std::int32_t { none, label, index };
  std::int32_t what = none;
  std::int32_t value = 0;
  std::int64_t place = 0, limit = 0;
};

// Only the first report counts.
DLHOST_BODY void report(Fault* fault, Fault::What what, std::int32_t value, std::int64_t place, std::int64_t limit) {
#if defined(__CUDA_ARCH__)
  if (atomicCAS_system(&fault->what, static_cast<std::int32_t>(Fault::none), static_cast<std::int32_t>(what)) !=
      Fault::none)
    return;
#else
  if (fault->what != Fault::none) return;
  fault->what = what;
#endif
  fault->value = value;
  fault->place = place;
  fault->limit = limit;
}

// Division of non-negative numbers, in 32 bits if possible, because a GPU divides 64 bits in a slow loop.
DLHOST_BODY std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0)
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b));
  return a / b;
}

// Removes and returns the last digit of a number in base `base`.
DLHOST_BODY std::int64_t last_digit(std::int64_t& number, std::int64_t base) {
  const std::int64_t rest = quotient(number, base), digit = number - rest * base;
  number = rest;
  return digit;
}

// A shape in the form for bodies.
struct Dims {
  std::int32_t rank = 0;
  std::int64_t size[max_rank] = {};

  Dims() = default;
  explicit Dims(const Shape& shape) : rank(static_cast<std::int32_t>(shape.rank())) {
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) size[axis] = shape[axis];
  }
};

} // namespace dlhost::plugins::cuda
