// Shares: each rank sums its own piece of each slice and sends it to all, like a table's servers, one beside each
// worker.
#include <dlhost/plugin.h>

#include "merging.h"

namespace dlhost::plugins {
namespace {

class Sharing final : public Exchange {
 public:
  Sharing(const Sync::Ranks& ranks, std::int64_t elements)
      : rank_(ranks.rank), count_(ranks.count), elements_(elements) {}

  void begin(std::vector<SyncStep>& out) override {
    for (std::uint32_t turn = 1; turn < count_; ++turn) { // not all to the same peer at once
      const std::uint32_t peer = (rank_ + turn) % count_;
      out.push_back(step(SyncStep::Act::send, peer, peer, gather));
    }
    add_from(0, out);
  }

  void arrived(std::uint32_t peer, std::uint32_t round, std::vector<SyncStep>& out) override {
    if (round == gather) return add_from(peer + 1, out);
    if (++known_ == count_) out.push_back({.act = SyncStep::Act::done});
  }

 private:
  static constexpr std::uint32_t gather = 0, spread = 1; // rounds

  // Adds up to the first piece that has not arrived; in the order of the ranks, so that every run gives the same
  // result.
  void add_from(std::uint32_t peer, std::vector<SyncStep>& out) {
    for (; peer < count_; ++peer) {
      out.push_back(step(peer == 0 ? SyncStep::Act::replace : SyncStep::Act::add, peer, rank_, gather));
      if (peer != rank_) return;
    }
    known_ = 1;
    for (std::uint32_t turn = 1; turn < count_; ++turn) {
      const std::uint32_t other = (rank_ + turn) % count_;
      out.push_back(step(SyncStep::Act::send, other, rank_, spread));
      out.back().made = true;
      out.push_back(step(SyncStep::Act::replace, other, other, spread));
    }
    if (known_ == count_) out.push_back({.act = SyncStep::Act::done});
  }
  SyncStep step(SyncStep::Act act, std::uint32_t peer, std::uint32_t piece, std::uint32_t round) const {
    const auto first = [&](std::int64_t p) { return elements_ * p / count_; };
    return {.act = act, .peer = peer, .first = first(piece), .count = first(piece + 1) - first(piece), .round = round};
  }

  std::uint32_t rank_, count_, known_ = 0; // number of complete pieces
  std::int64_t elements_;
};

} // namespace

class Shares final : public MergingSync<Sharing> {
 public:
  static constexpr std::string_view name = "shares";
  static Schema schema() {
    return merging_schema(
        "Each rank adds up a piece of each slice, and sends the sum to all: 2 rounds, each rank sends less than "
        "two times a slice's bytes, to all others.");
  }
  using MergingSync::MergingSync;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Shares);
