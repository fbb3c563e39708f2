// The memory and time that this process has used.
#pragma once

#include <cstdint>

namespace dlhost::env {

std::uint64_t peak_resident_bytes();
// The peak without shared memory that is mapped now.
std::uint64_t peak_private_bytes();
std::uint64_t resident_bytes();
// The total time in which the present threads were ready to run but had no core; 0: the kernel does not say.
double seconds_without_a_core();

} // namespace dlhost::env
