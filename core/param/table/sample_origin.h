// Where the steps of a run began to be counted as they are now: that step begins with that place of a source's order. A
// run that goes on with another batch, or other groups, goes on in its data all the same.
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
