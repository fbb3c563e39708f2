// What came of contributions, where some may come too late to make a version.
#pragma once

#include <cstdint>

namespace dlhost::param {

struct Arrivals {
  std::uint64_t came = 0;
  std::uint64_t late = 0; // of them: dropped, or folded in

  Arrivals& operator+=(const Arrivals& other) {
    came += other.came;
    late += other.late;
    return *this;
  }
};

} // namespace dlhost::param
