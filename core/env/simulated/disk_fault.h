// What may be put into a simulated disk on purpose, to see that whoever looks finds it.
#pragma once

#include <cstdint>

namespace dlhost::env::simulated {

enum class DiskFault : std::uint8_t {
  none,
  tears,   // of some appends only the first half is there, though all is said to be
  forgets, // what was synced is lost with its machine like what was not
};

} // namespace dlhost::env::simulated
