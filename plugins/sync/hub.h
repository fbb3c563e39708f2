// Hubs sum their leaves' differences, and each other's. One hub makes a star. Two share the work: each sums its leaves,
// then half of the elements, and both send the whole to their leaves.
#pragma once

#include <dlhost/sync.h>

namespace dlhost::plugins {

template <std::uint32_t most> class Hubs final : public Exchange {
 public:
  Hubs(const Sync::Ranks& ranks, std::int64_t elements)
      : hubs_(ranks.count > most ? most : 1), rank_(ranks.rank), count_(ranks.count), elements_(elements) {}

  void begin(std::vector<SyncStep>& out) override {
    if (rank_ < hubs_) {
      out.push_back({.act = SyncStep::Act::replace, .peer = rank_, .count = elements_});
      return add_leaf(rank_ + hubs_, out);
    }
    const std::uint32_t hub = rank_ % hubs_;
    out.push_back({.act = SyncStep::Act::send, .peer = hub, .count = elements_, .round = leaves});
    out.push_back({.act = SyncStep::Act::replace, .peer = hub, .count = elements_, .round = whole});
  }

  void arrived(std::uint32_t peer, std::uint32_t round, std::vector<SyncStep>& out) override {
    if (round == leaves) return add_leaf(peer + hubs_, out);
    if (round == whole) return out.push_back({.act = SyncStep::Act::done});
    if (round == halves) { // this hub's half is complete
      out.push_back(half(SyncStep::Act::send, rank_, other_half));
      out.push_back(half(SyncStep::Act::replace, 1 - rank_, other_half));
      return;
    }
    tell_leaves(out);
  }

 private:
  static constexpr std::uint32_t leaves = 0, halves = 1, other_half = 2, whole = 3; // rounds

  void add_leaf(std::uint32_t leaf, std::vector<SyncStep>& out) const {
    if (leaf < count_) return out.push_back({.act = SyncStep::Act::add, .peer = leaf, .count = elements_});
    if (hubs_ == 1) return tell_leaves(out);
    out.push_back(half(SyncStep::Act::send, 1 - rank_, halves));
    out.push_back(half(SyncStep::Act::add, rank_, halves));
  }
  void tell_leaves(std::vector<SyncStep>& out) const {
    for (std::uint32_t leaf = rank_ + hubs_; leaf < count_; leaf += hubs_)
      out.push_back({.act = SyncStep::Act::send, .peer = leaf, .count = elements_, .round = whole, .made = true});
    out.push_back({.act = SyncStep::Act::done});
  }
  // To or from the other hub: the half of hub `of`.
  SyncStep half(SyncStep::Act act, std::uint32_t of, std::uint32_t round) const {
    const std::int64_t middle = elements_ / 2;
    return {.act = act,
            .peer = 1 - rank_,
            .first = of == 0 ? 0 : middle,
            .count = of == 0 ? middle : elements_ - middle,
            .round = round,
            .made = true};
  }

  std::uint32_t hubs_, rank_, count_;
  std::int64_t elements_;
};

} // namespace dlhost::plugins
