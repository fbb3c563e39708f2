// Counts contributions, if some may come too late for a version.
#pragma once

#include <cstdint>

namespace dlhost::param {

struct Arrivals {
  std::uint64_t came = 0;
  std::uint64_t late = 0; // among `came`: dropped or folded

  Arrivals& operator+=(const Arrivals& other) {
    came += other.came;
    late += other.late;
    return *this;
  }
};

} // namespace dlhost::param
