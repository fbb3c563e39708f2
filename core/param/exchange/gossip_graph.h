// The graph along which server groups gossip, where some of them are lost: who tells whom.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/sync.h>

namespace dlhost::param {

class GossipGraph {
 public:
  GossipGraph(const Sync& sync, std::uint32_t rank, std::uint32_t count);

  std::span<const std::uint32_t> neighbours() const { return neighbours_; } // of this group
  void lose(std::uint32_t rank) { lost_.at(rank) = true; }
  void join(std::uint32_t rank) { lost_.at(rank) = false; }
  bool is_lost(std::uint32_t rank) const { return lost_[rank]; }

  // What is behind a neighbour that is lost: the lost groups that are reached through it without passing another, and
  // the others at their edge, in the order of their ranks.
  struct Behind {
    std::vector<std::uint32_t> lost, others;
  };
  Behind behind(std::uint32_t neighbour) const;

 private:
  const Sync& sync_;
  const std::uint32_t rank_;
  std::vector<bool> lost_;
  std::vector<std::uint32_t> neighbours_;
};

} // namespace dlhost::param
