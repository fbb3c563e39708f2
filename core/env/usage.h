// What this process has used so far.
#pragma once

#include <cstdint>

namespace dlhost::env {

std::uint64_t peak_resident_bytes();
std::uint64_t resident_bytes();

} // namespace dlhost::env
