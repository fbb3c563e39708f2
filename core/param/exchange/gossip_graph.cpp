#include "param/exchange/gossip_graph.h"

#include <algorithm>

namespace dlhost::param {

GossipGraph::GossipGraph(const Sync& sync, std::uint32_t rank, std::uint32_t count)
    : sync_(sync), rank_(rank), lost_(count), neighbours_(sync.neighbours(rank, count)) {}

// The graph has no loops, so that no group is reached twice, but for the one that it was reached from.
GossipGraph::Behind GossipGraph::behind(std::uint32_t neighbour) const {
  Behind behind;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reached{{neighbour, rank_}}; // and from which
  while (!reached.empty()) {
    const auto [rank, from] = reached.back();
    reached.pop_back();
    if (!lost_[rank]) {
      behind.others.push_back(rank);
      continue;
    }
    behind.lost.push_back(rank);
    for (const std::uint32_t next : sync_.neighbours(rank, static_cast<std::uint32_t>(lost_.size())))
      if (next != from) reached.emplace_back(next, rank);
  }
  std::ranges::sort(behind.lost);
  std::ranges::sort(behind.others);
  return behind;
}

} // namespace dlhost::param
