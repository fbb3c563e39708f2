// The longest silence of a worker. A worker that ends itself and a worker that waits for others use the same limits.
#pragma once

#include <dlhost/host.h>

namespace dlhost::run {

inline constexpr Nanoseconds one_second = 1'000'000'000;
inline constexpr Nanoseconds before_the_first_step = 600 * one_second; // kernels may be compiled in that time
inline constexpr double longest_seconds = 365.0 * 24 * 3600;           // no limit; more would overflow sums

} // namespace dlhost::run
