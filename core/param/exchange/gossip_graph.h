// The graph along which server groups gossip, of which some may be lost: the groups between which parts are sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/sync.h>

namespace dlhost::param {

class GossipGraph {
 public:
  GossipGraph(const Sync& sync, std::uint32_t rank, std::uint32_t count);

  std::span<const std::uint32_t> neighbours() const { return neighbours_; } // of this group, lost ones too
  void lose(std::uint32_t rank) { lost_.at(rank) = true; }
  void join(std::uint32_t rank) { lost_.at(rank) = false; }
  bool is_lost(std::uint32_t rank) const { return lost_[rank]; }

  // The groups that are reached through a lost neighbour: `lost` are the neighbour and the lost groups connected to it,
  // `others` the live groups next to these, each in the order of ranks. If the neighbour is not lost, `others` is the
  // neighbour alone.
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
