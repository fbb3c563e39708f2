// Faults that a simulated disk can have on purpose, to test that they are detected.
#pragma once

#include <cstdint>

namespace dlhost::env::simulated {

enum class DiskFault : std::uint8_t {
  none,
  tears,   // some appends write only their first half and report success
  forgets, // a crash loses synced bytes like bytes that were not synced
};

} // namespace dlhost::env::simulated
