// Splits a slice into pieces, and pieces into parts within blocks that share a number.
#pragma once

#include <algorithm>
#include <cstddef>

#include <dlhost/random.h>

#include "feedback.h"

namespace dlhost::plugins {

// call(first element, count)
template <class Call> void each_piece(std::size_t size, Call&& call) {
  for (std::size_t first = 0; first < size; first += piece) call(first, std::min(piece, size - first));
}

// Splits a piece into parts, each within one block: call(block, first element, count).
template <class Call> void each_part(std::size_t first, std::size_t count, std::size_t block, Call&& call) {
  for (const std::size_t end = first + count; first < end;) {
    const std::size_t last = std::min(end, (first / block + 1) * block);
    call(first / block, first, last - first);
    first = last;
  }
}

// The draws of one encoding: a number for each element.
inline vectors::Draws drawn_from(Random& random) {
  const std::uint64_t high = random.bits();
  return {.key = {.seed = high << 32U | random.bits()}};
}

} // namespace dlhost::plugins
