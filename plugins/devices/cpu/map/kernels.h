// The vector loops behind the elementwise ops, compiled for several instruction sets; the best that the CPU has is
// taken. Plain functions of pointers; they run on any thread and allocate nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/tensor.h>

#include "program.h"
#include "vectors/draws.h"

namespace dlhost::plugins::cpu {

// A value that is the same for all elements is repeated this often, so that any vector can be loaded from it.
inline constexpr std::int64_t widest = 64;

// One operand of a loop: `step` 1 walks, 0 stays (at `widest` equal values).
struct Walk {
  const float* data = nullptr;
  std::int64_t step = 1;
};

using vectors::Draws;

struct MapKernels {
  // out[i] = code(a[i], b[i], c[i]) for i < count; count is rounded up to whole vectors, and all four have the room.
  void (*step)(Code, Walk a, Walk b, Walk c, float* out, std::int64_t count);
  // From a dtype to f32 and back, exactly `count` elements. Rounds to nearest, ties to even.
  void (*load)(DType, const void* src, float* dst, std::int64_t count);
  void (*store)(DType, const float* src, void* dst, std::int64_t count);
  // As store, for results that are larger than the caches and no input's memory.
  void (*store_streaming)(DType, const float* src, void* dst, std::int64_t count);
  // To bf16 or f16, two rows interleaved: `count` is a multiple of 2 * width, and width one of 16.
  void (*store_pairs)(DType, const float* src, void* dst, std::int64_t count, std::int64_t width);
  void (*draw)(const Draws&, std::uint64_t element, float* dst, std::int64_t count);
  float (*sum)(const float* values, std::int64_t count);
  void (*accumulate)(const float* values, float* sums, std::int64_t count);
  // sums[i] = values[i + shifts[0]] + values[i + shifts[1]] + ...; count is rounded up to whole vectors.
  void (*sum_shifted)(const float* values, const std::int64_t* shifts, std::size_t shift_count, float* sums,
                      std::int64_t count);
  std::int64_t lanes = 1;
};

// Of the best instruction set of this CPU.
const MapKernels& map_kernels();
// Of each that this CPU has, with its name: for tests.
std::vector<std::pair<std::string, MapKernels>> all_map_kernels();

} // namespace dlhost::plugins::cpu
