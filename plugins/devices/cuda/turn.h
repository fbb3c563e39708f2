// Which GPU a worker takes, where a machine has several of both.
#pragma once

#include <cstdint>

namespace dlhost::plugins::cuda {

// From `first` on, one after the other and around again: those before it are somebody else's.
inline std::int64_t gpu_of(std::int64_t first, std::int64_t turn, std::int64_t count) {
  return count > first ? first + turn % (count - first) : first;
}

} // namespace dlhost::plugins::cuda
