// The instruction sets that this CPU has and the system enables, as bits of StampIsa.
#pragma once

#include <cstdint>

namespace dlhost::plugin {

std::uint64_t cpu_isa();

} // namespace dlhost::plugin
