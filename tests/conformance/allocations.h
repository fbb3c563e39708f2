// Counts what operator new is asked for in this process, by our code and by plugins: GoogleTest's own and libraries'
// use of malloc is not seen.
#pragma once

#include <cstdint>

namespace dlhost::conform {

std::uint64_t allocations(); // since the start

} // namespace dlhost::conform
