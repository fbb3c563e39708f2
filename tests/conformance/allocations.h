// Counts the calls of operator new in this process, by the project's code and by plugins. Not counted: direct calls of
// malloc by GoogleTest or libraries.
#pragma once

#include <cstdint>

namespace dlhost::conform {

std::uint64_t allocations(); // since the start

} // namespace dlhost::conform
