// What workers send, in bytes.
#pragma once

#include <cstdint>

namespace dlhost::record {

// Contributions of a worker that were sent as something smaller.
struct Traffic {
  std::uint64_t sent = 0, dense = 0; // what was sent, and what that is as gradients
};

// What a worker put on the network for those of other machines, by what it is: params with all that belongs to them,
// contributions to them, and what it takes to agree. What a transport adds is not counted.
enum class Cargo : std::uint8_t { params, gradients, control };

struct Freight {
  std::uint64_t params = 0, gradients = 0, control = 0;

  void add(Cargo cargo, std::uint64_t bytes) {
    (cargo == Cargo::params ? params : cargo == Cargo::gradients ? gradients : control) += bytes;
  }
  std::uint64_t all() const { return params + gradients + control; }
};

} // namespace dlhost::record
