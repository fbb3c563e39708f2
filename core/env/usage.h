// What this process has used so far.
#pragma once

#include <cstdint>

namespace dlhost::env {

std::uint64_t peak_resident_bytes();
// Of that, what no other process can have as well: without the shared memory that it has mapped now.
std::uint64_t peak_private_bytes();
std::uint64_t resident_bytes();

} // namespace dlhost::env
