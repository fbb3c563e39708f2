// What this process has used so far.
#pragma once

#include <cstdint>

namespace dlhost::env {

std::uint64_t peak_resident_bytes();
// Of that, what no other process can have as well: without the shared memory that it has mapped now.
std::uint64_t peak_private_bytes();
std::uint64_t resident_bytes();
// For how long the threads that it has now were ready to run and had no core, together. 0: the kernel does not say.
double seconds_without_a_core();

} // namespace dlhost::env
