#include "net/order.h"

#include <algorithm>
#include <functional>

namespace dlhost::net {
namespace {

enum class Mark : unsigned char { fresh, open, done };

// A cycle among the nodes; empty: none.
std::vector<std::size_t> find_cycle(const std::vector<std::vector<std::size_t>>& below) {
  std::vector<Mark> marks(below.size(), Mark::fresh);
  std::vector<std::size_t> path, cycle;
  const std::function<void(std::size_t)> visit = [&](std::size_t node) {
    if (marks[node] == Mark::done || !cycle.empty()) return;
    if (marks[node] == Mark::open) {
      cycle.assign(std::ranges::find(path, node), path.end());
      return;
    }
    marks[node] = Mark::open;
    path.push_back(node);
    for (auto source : below[node]) visit(source);
    path.pop_back();
    marks[node] = Mark::done;
  };
  for (std::size_t node = 0; node < below.size(); ++node) visit(node);
  std::ranges::reverse(cycle); // from a node to its reader
  return cycle;
}

} // namespace

FeatureOrder feature_order(const std::vector<std::vector<std::size_t>>& below) {
  FeatureOrder order;
  std::vector<bool> placed(below.size());
  const auto ready = [&](std::size_t node) {
    return !placed[node] && std::ranges::all_of(below[node], [&](std::size_t source) { return placed[source]; });
  };
  std::size_t first = 0; // all before it are placed
  while (order.nodes.size() < below.size()) {
    while (placed[first]) ++first;
    std::size_t next = first;
    while (next < below.size() && !ready(next)) ++next;
    if (next == below.size()) { // only cycles are left: continues with the job's first node
      next = first;
      if (order.cycle.empty()) order.cycle = find_cycle(below);
    }
    placed[next] = true;
    order.nodes.push_back(next);
  }
  return order;
}

} // namespace dlhost::net
