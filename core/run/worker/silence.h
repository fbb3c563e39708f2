// How long the silence of a worker is borne, whoever listens: what both who ends itself and who waits for others have.
#pragma once

#include <dlhost/host.h>

namespace dlhost::run {

inline constexpr Nanoseconds one_second = 1'000'000'000;
inline constexpr Nanoseconds before_the_first_step = 600 * one_second; // kernels may be made then
inline constexpr double longest_seconds = 365.0 * 24 * 3600;           // is for ever; more would overflow clocks' sums

} // namespace dlhost::run
