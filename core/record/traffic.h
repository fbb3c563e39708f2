// Bytes that workers send.
#pragma once

#include <cstdint>

namespace dlhost::record {

// A worker's contributions that were compressed.
struct Traffic {
  std::uint64_t sent = 0, dense = 0; // bytes sent, and their size as dense gradients
};

// Bytes that a worker sent to other machines, by purpose: new values of params; contributions to them; first values and
// saved state; agreement. A transport's own overhead is not counted.
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
