#pragma once

#include <cstdint>

#include <dlhost/random.h>

namespace dlhost::plugins::vectors {

// The arguments of dlhost::draw except the element.
struct Draws {
  DrawKey key;
  std::uint32_t epoch = 0;
  std::uint32_t sample = 0;
};

} // namespace dlhost::plugins::vectors
