// Contributions of a worker that were sent as something smaller.
#pragma once

#include <cstdint>

namespace dlhost::record {

struct Traffic {
  std::uint64_t sent = 0, dense = 0; // bytes: what was sent, and what that is as gradients
};

} // namespace dlhost::record
