// The vector loops of elementwise ops, compiled for several instruction sets; the CPU's best is used. Plain functions
// of pointers. Thread: any. They allocate nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/tensor.h>

#include "program.h"
#include "vectors/draws.h"

namespace dlhost::plugins::cpu {

// A constant is repeated this often, so that any vector can be loaded from it.
inline constexpr std::int64_t widest = 64;

// An operand of a loop: `step` 1 walks, 0 stays (at `widest` equal values).
struct Walk {
  const float* data = nullptr;
  std::int64_t step = 1;
};

using vectors::Draws;

struct MapKernels {
  // out[i] = code(a[i], b[i], c[i]) for i < count. count is rounded up to whole vectors; all four have room for that.
  void (*step)(Code, Walk a, Walk b, Walk c, float* out, std::int64_t count);
  // Converts a dtype to f32 and back, exactly `count` elements. Rounds to nearest, ties to even.
  void (*load)(DType, const void* src, float* dst, std::int64_t count);
  void (*store)(DType, const float* src, void* dst, std::int64_t count);
  // Like store, for results larger than the caches that are no input's memory.
  void (*store_streaming)(DType, const float* src, void* dst, std::int64_t count);
  // To bf16 or f16, with two rows interleaved. Requires: `count` is a multiple of 2 * width, and width of 16.
  void (*store_pairs)(DType, const float* src, void* dst, std::int64_t count, std::int64_t width);
  void (*draw)(const Draws&, std::uint64_t element, float* dst, std::int64_t count);
  float (*sum)(const float* values, std::int64_t count);
  void (*accumulate)(const float* values, float* sums, std::int64_t count);
  // sums[i] = values[i + shifts[0]] + values[i + shifts[1]] + ...; count is rounded up to whole vectors.
  void (*sum_shifted)(const float* values, const std::int64_t* shifts, std::size_t shift_count, float* sums,
                      std::int64_t count);
  std::int64_t lanes = 1;
};

// The kernels for the CPU's best instruction set.
const MapKernels& map_kernels();
// The kernels for each instruction set of this CPU, with its name, for tests.
std::vector<std::pair<std::string, MapKernels>> all_map_kernels();

} // namespace dlhost::plugins::cpu
