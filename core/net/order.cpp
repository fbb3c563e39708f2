#include "net/order.h"

#include <algorithm>
#include <functional>

namespace dlhost::net {

FeatureOrder feature_order(const std::vector<std::vector<std::size_t>>& below) {
  enum class Mark : unsigned char { fresh, open, done };
  FeatureOrder order;
  std::vector<Mark> marks(below.size(), Mark::fresh);
  std::vector<std::size_t> path;
  const std::function<void(std::size_t)> visit = [&](std::size_t node) {
    if (marks[node] == Mark::done) return;
    if (marks[node] == Mark::open) {
      if (order.cycle.empty()) order.cycle.assign(std::ranges::find(path, node), path.end());
      return;
    }
    marks[node] = Mark::open;
    path.push_back(node);
    for (auto source : below[node]) visit(source);
    path.pop_back();
    marks[node] = Mark::done;
    order.nodes.push_back(node);
  };
  for (std::size_t node = 0; node < below.size(); ++node) visit(node);
  std::ranges::reverse(order.cycle); // from a node to its reader
  return order;
}

} // namespace dlhost::net
