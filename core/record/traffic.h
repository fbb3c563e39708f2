// What workers send, in bytes.
#pragma once

#include <cstdint>

namespace dlhost::record {

// Contributions of a worker that were sent as something smaller.
struct Traffic {
  std::uint64_t sent = 0, dense = 0; // what was sent, and what that is as gradients
};

// What a worker put on the network for those of other machines, by what it is: new values of params, contributions to
// them, what all begin with and what is saved, and what it takes to agree. What a transport adds is not counted.
enum class Cargo : std::uint8_t { params, gradients, state, control };

struct Freight {
  std::uint64_t params = 0, gradients = 0, state = 0, control = 0;

  std::uint64_t& of(Cargo cargo) {
    switch (cargo) {
    case Cargo::params: return params;
    case Cargo::gradients: return gradients;
    case Cargo::state: return state;
    case Cargo::control: return control;
    }
    return control;
  }
  std::uint64_t all() const { return params + gradients + state + control; }
  Freight& operator+=(const Freight& other) {
    for (const auto part : {&Freight::params, &Freight::gradients, &Freight::state, &Freight::control})
      this->*part += other.*part;
    return *this;
  }
  bool operator==(const Freight&) const = default;
};

} // namespace dlhost::record
