// A ring: each slice is cut into a piece for each rank. In the first N - 1 rounds a piece goes around and is summed; in
// the next N - 1 its sum goes around.
#include <dlhost/plugin.h>

#include "merging.h"

namespace dlhost::plugins {
namespace {

class Around final : public Exchange {
 public:
  Around(const Sync::Ranks& ranks, std::int64_t elements)
      : rank_(ranks.rank), count_(ranks.count), elements_(elements) {}

  void begin(std::vector<SyncStep>& out) override {
    if (count_ == 1) {
      out.push_back(step(SyncStep::Act::replace, rank_, 0, 0));
      return out.push_back({.act = SyncStep::Act::done});
    }
    out.push_back(step(SyncStep::Act::send, next(), rank_, 0));
    out.push_back(step(SyncStep::Act::replace, before(), piece(0), 0));
  }

  // A piece that arrived in a round is sent on in the next.
  void arrived(std::uint32_t, std::uint32_t round, std::vector<SyncStep>& out) override {
    const std::uint32_t sums = count_ - 1;
    if (round < sums) out.push_back(step(SyncStep::Act::add, rank_, piece(round), round));
    if (round + 1 < 2 * sums) {
      SyncStep send = step(SyncStep::Act::send, next(), piece(round), round + 1);
      send.made = true;
      out.push_back(send);
      out.push_back(step(SyncStep::Act::replace, before(), piece(round + 1), round + 1));
    } else {
      out.push_back({.act = SyncStep::Act::done});
    }
  }

 private:
  std::uint32_t next() const { return (rank_ + 1) % count_; }
  std::uint32_t before() const { return (rank_ + count_ - 1) % count_; }
  // The piece that arrives in a round: the rank before sends its own first, then the pieces that it received.
  std::uint32_t piece(std::uint32_t round) const { return (rank_ + 2 * count_ - 1 - round) % count_; }
  SyncStep step(SyncStep::Act act, std::uint32_t peer, std::uint32_t piece, std::uint32_t round) const {
    const auto first = [&](std::int64_t p) { return elements_ * p / count_; };
    return {.act = act, .peer = peer, .first = first(piece), .count = first(piece + 1) - first(piece), .round = round};
  }

  std::uint32_t rank_, count_;
  std::int64_t elements_;
};

} // namespace

class Ring final : public MergingSync<Around> {
 public:
  static constexpr std::string_view name = "ring";
  static Schema schema() {
    return merging_schema("Pieces go around a ring and are added up on their way: 2 (N - 1) rounds, "
                          "each link carries less than two times a slice's bytes.");
  }
  using MergingSync::MergingSync;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Ring);
