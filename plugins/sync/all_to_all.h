// Every rank sends its start row to all others, and sums in the order of the ranks, so that all get the same bits.
#pragma once

#include <dlhost/sync.h>

namespace dlhost::plugins {

class ToAll final : public Exchange {
 public:
  ToAll(const Sync::Ranks& ranks, std::int64_t elements)
      : rank_(ranks.rank), count_(ranks.count), elements_(elements) {}

  void begin(std::vector<SyncStep>& out) override {
    for (std::uint32_t peer = 0; peer < count_; ++peer)
      if (peer != rank_) out.push_back({.act = SyncStep::Act::send, .peer = peer, .count = elements_});
    add_from(0, out);
  }
  void arrived(std::uint32_t peer, std::uint32_t, std::vector<SyncStep>& out) override { add_from(peer + 1, out); }

 private:
  // Adds up to the first row that has not arrived.
  void add_from(std::uint32_t peer, std::vector<SyncStep>& out) const {
    for (; peer < count_; ++peer) {
      const auto act = peer == 0 ? SyncStep::Act::replace : SyncStep::Act::add;
      out.push_back({.act = act, .peer = peer, .count = elements_});
      if (peer != rank_) return;
    }
    out.push_back({.act = SyncStep::Act::done});
  }

  std::uint32_t rank_, count_;
  std::int64_t elements_;
};

} // namespace dlhost::plugins
