// Where the workers of a run begin, the first time or once more: a point at which all that was sent had been dealt
// with, so that nothing is lost and nothing counts twice.
#pragma once

#include <cstdint>
#include <vector>

#include <dlhost/message.h>

namespace dlhost::param {

struct Beginning {
  Version version = 0;              // of every slice
  std::vector<std::uint64_t> steps; // done by each group, all of which are in that version
};

} // namespace dlhost::param
