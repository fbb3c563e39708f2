// The GPU of a worker, on machines with several workers and GPUs.
#pragma once

#include <cstdint>

namespace dlhost::plugins::cuda {

// Round robin from `first` on: GPUs before it belong to other processes.
inline std::int64_t gpu_of(std::int64_t first, std::int64_t turn, std::int64_t count) {
  return count > first ? first + turn % (count - first) : first;
}

} // namespace dlhost::plugins::cuda
