// Several pairs of processes that exchange messages at once, as on a machine with more workers than cores.
#pragma once

#include <cstddef>
#include <string>

namespace dlhost::bench {

// The throughput of `pairs` pairs together over that transport, in messages of one size; bytes per second. Throws if a
// pair fails.
double delivered_by(const std::string& program, const std::string& transport, std::size_t bytes, double seconds,
                    int pairs);

} // namespace dlhost::bench
