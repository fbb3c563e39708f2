// The vector loops of the codecs, compiled for several instruction sets; the CPU's best is used. All give the same
// bits, except sums. `arrives`: the decoded value of each element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vectors/draws.h"

namespace dlhost::plugins {

// Dithering's levels of a norm: equidistant, or each half of the next.
struct Levels {
  int top = 1;
  bool natural = false;
};

// Sums of the elements below zero and of the others.
struct SignSums {
  float below = 0, others = 0;
  std::size_t count_below = 0;
};

struct CodecKernels {
  void (*add)(const float* a, const float* b, float* sums, std::size_t count);
  void (*subtract)(const float* a, const float* b, float* differences, std::size_t count);
  // The largest absolute value; NaN if an element is not finite.
  float (*greatest)(const float* values, std::size_t count);
  void (*draw)(const vectors::Draws&, std::uint64_t element, float* draws, std::int64_t count);

  void (*to_bf16)(const float* values, std::byte* out, float* arrives, std::size_t count);
  void (*add_bf16)(const std::byte* in, float factor, float* values, std::size_t count);
  void (*to_f16)(const float* values, float scale, std::byte* out, float* arrives, std::size_t count);
  void (*add_f16)(const std::byte* in, float scale, float* values, std::size_t count);
  // codes[i] = floor(values[i] / scale + draws[i]), limited to -127..127.
  void (*to_int8)(const float* values, float scale, const float* draws, std::byte* codes, float* arrives,
                  std::size_t count);
  void (*add_int8)(const std::byte* codes, float scale, float* values, std::size_t count);
  // A code is the level, with the sign in the lowest bit.
  void (*to_levels)(const float* values, float norm, Levels, const float* draws, std::uint8_t* codes, float* arrives,
                    std::size_t count);
  void (*add_levels)(const std::uint8_t* codes, float norm, Levels, float* values, std::size_t count);
  // A code is 1 for an element below zero.
  SignSums (*to_signs)(const float* values, std::uint8_t* codes, std::size_t count);
  // values[i] += means[codes[i]]
  void (*add_signs)(const std::uint8_t* codes, const float means[2], float* values, std::size_t count);
};

// The kernels for the CPU's best instruction set.
const CodecKernels& codec_kernels();
// The kernels for each instruction set of this CPU, with its name, for tests.
std::vector<std::pair<std::string, CodecKernels>> all_codec_kernels();

} // namespace dlhost::plugins
