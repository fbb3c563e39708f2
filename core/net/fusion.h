// Finds layers that the op before them could compute in its epilogue: a pointwise layer, a sum, or a sum followed by a
// pointwise layer. The layer and the device decide at prepare; `check -v` shows the reason of a refusal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/graph.h"

namespace dlhost::net {

struct Fusion {
  std::size_t producer = 0;                                          // the layer whose op takes the others
  std::optional<std::size_t> add;                                    // the sum to fuse
  std::size_t addend_input = 0;                                      // the sum's input that is not the producer
  std::optional<std::size_t> pointwise;                              // the pointwise layer to fuse
  std::size_t last() const { return pointwise ? *pointwise : *add; } // the layer whose output the producer then makes
};

// At most one for each producer. `training`: gradients are needed.
std::vector<Fusion> find_fusions(const Graph&, bool training);

// Why a pointwise layer or a sum is not fused, in words; empty for other layers.
std::string why_apart(const Graph&, std::size_t node, bool training);

} // namespace dlhost::net
