// What a worker shows of itself while it works, in memory that all of a run see: it alone writes, and whoever waits for
// it, or watches the run, reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace dlhost::run {

struct alignas(64) Vitals {
  std::atomic<std::uint64_t> beats{0};  // grows as long as it gets on, or looks whether it could
  std::atomic<std::uint64_t> steps{0};  // done
  std::atomic<std::int64_t> waited{0};  // nanoseconds, for others
  std::atomic<std::uint32_t> awaits{0}; // the param that it waits for, from 1 on; 0: none
  std::atomic<bool> away{true};         // at what may take long without a beat: it prepares, evaluates or saves
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "processes share it, and one may be killed at any point");

} // namespace dlhost::run
