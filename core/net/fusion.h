// Which layers could be done in the epilogue of the op before them: a pointwise layer, a sum, or a sum with a pointwise
// behind it. Whether it happens is the layer's and the device's word, at prepare; why it does not is kept for `check
// -v`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/graph.h"

namespace dlhost::net {

struct Fusion {
  std::size_t producer = 0;                                          // whose op would do it
  std::optional<std::size_t> add;                                    // the sum that goes in
  std::size_t addend_input = 0;                                      // which input of the sum is not the producer's
  std::optional<std::size_t> pointwise;                              // the pointwise layer that goes in
  std::size_t last() const { return pointwise ? *pointwise : *add; } // whose output the producer then makes
};

// At most one for each producer. `training`: gradients will be computed.
std::vector<Fusion> find_fusions(const Graph&, bool training);

// Why a pointwise layer or a sum is none of those, in words; empty for other layers.
std::string why_apart(const Graph&, std::size_t node, bool training);

} // namespace dlhost::net
