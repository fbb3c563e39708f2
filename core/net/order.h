// The order in which features can be computed: sources before their readers, and otherwise the order of the job.
#pragma once

#include <cstddef>
#include <vector>

namespace dlhost::net {

struct FeatureOrder {
  std::vector<std::size_t> nodes; // all of them; those on a cycle in the order of the job
  std::vector<std::size_t> cycle; // one cycle, when there is one
};

// below[i]: the nodes that i reads.
FeatureOrder feature_order(const std::vector<std::vector<std::size_t>>& below);

} // namespace dlhost::net
