// The step from which a run counts its steps now, and the place in the source's order with which that step begins. So a
// run that continues with another batch or other groups continues in its data.
#pragma once

#include <cstdint>

namespace dlhost::param {

struct SampleOrigin {
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;
  std::uint64_t index = 0; // in the epoch's order

  bool operator==(const SampleOrigin&) const = default;
};

} // namespace dlhost::param
