// Several pairs of processes that send to one another at once, as when a machine has more workers than cores.
#pragma once

#include <cstddef>
#include <string>

namespace dlhost::bench {

// What so many pairs deliver together, each over that transport, in messages of one size; bytes per second. Throws
// where one of them fails.
double delivered_by(const std::string& program, const std::string& transport, std::size_t bytes, double seconds,
                    int pairs);

} // namespace dlhost::bench
