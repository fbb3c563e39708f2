// The order for computing features: sources before their readers, otherwise the order of the job.
#pragma once

#include <cstddef>
#include <vector>

namespace dlhost::net {

struct FeatureOrder {
  std::vector<std::size_t> nodes; // all nodes; those on a cycle in the order of the job
  std::vector<std::size_t> cycle; // one cycle, if there is one
};

// below[i]: the nodes that i reads.
FeatureOrder feature_order(const std::vector<std::vector<std::size_t>>& below);

} // namespace dlhost::net
