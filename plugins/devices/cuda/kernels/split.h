// How a sum is split into lanes and parts; depends on the numbers of items and terms alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dlhost::plugins::cuda {

inline constexpr int block_threads = 256;

struct Split {
  std::int64_t lanes = 32; // a power of two, at most block_threads
  std::int64_t parts = 1;
};

constexpr Split split_of(std::int64_t items, std::int64_t terms) {
  constexpr std::int64_t few_terms = 128, part_terms = 4096, blocks_wanted = 2048;
  if (terms <= few_terms) return {};
  return {block_threads,
          std::max<std::int64_t>(1, std::min(terms / part_terms, blocks_wanted / std::max<std::int64_t>(items, 1)))};
}

// Bytes of scratch of a sum.
template <class Body> constexpr std::size_t reduce_room(std::int64_t items, std::int64_t terms) {
  const Split split = split_of(items, terms);
  return split.parts == 1 ? 0 : static_cast<std::size_t>(items * split.parts) * sizeof(typename Body::Sum);
}

} // namespace dlhost::plugins::cuda
