// Recursive halving and doubling (Rabenseifner). Two ranks send each other one half of their row and add the other;
// then the same with a rank half as far away, until each has the sum of one piece; then the pieces go back the same
// way. Ranks beyond the last power of two give their row to a partner and get the sum from it.
#pragma once

#include <bit>
#include <utility>
#include <vector>

#include <dlhost/sync.h>

namespace dlhost::plugins {

class Halving final : public Exchange {
 public:
  // The row of this rank: its start row, or the made one.
  enum class Has : std::uint8_t { begun, made };

  // An exchange among some of the ranks; this one is ranks[own].
  Halving(std::vector<std::uint32_t> ranks, std::size_t own, std::int64_t elements, Has has = Has::begun,
          std::uint32_t first_round = 0)
      : ranks_(std::move(ranks)), own_(own), power_(std::bit_floor(ranks_.size())), extras_(ranks_.size() - power_),
        elements_(elements), has_(has), fold_(first_round), halve_(first_round + 1),
        levels_(static_cast<std::uint32_t>(std::countr_zero(power_))), unfold_(halve_ + 2 * levels_) {
    parts_.push_back({0, elements_});
    for (std::uint32_t level = 0; level < levels_; ++level) parts_.push_back(halves(level).first);
  }

  void begin(std::vector<SyncStep>& out) override {
    if (own_ >= power_) {
      out.push_back(whole(SyncStep::Act::send, own_ - power_, fold_));
      out.back().made = has_ == Has::made;
      out.push_back(whole(SyncStep::Act::replace, own_ - power_, unfold_));
      return;
    }
    if (has_ == Has::begun && (own_ < extras_ || levels_ == 0))
      out.push_back(whole(SyncStep::Act::replace, own_, fold_));
    if (own_ < extras_)
      out.push_back(whole(SyncStep::Act::add, own_ + power_, fold_));
    else
      halve(0, out);
  }

  void arrived(std::uint32_t, std::uint32_t round, std::vector<SyncStep>& out) override {
    if (round == fold_) return halve(0, out);
    if (round == unfold_) return out.push_back({.act = SyncStep::Act::done});
    const std::uint32_t number = round - halve_;
    if (number == 0 && from_begun()) out.push_back(part(SyncStep::Act::add, ranks_[own_], parts_[1], round));
    if (number < levels_) return halve(number + 1, out);
    give_back(2 * levels_ - number - 1, out);
  }

 private:
  struct Part {
    std::int64_t first = 0, count = 0;
  };

  std::size_t distance(std::uint32_t level) const { return power_ >> (level + 1); }
  // The half that this rank keeps at a level, and its partner's.
  std::pair<Part, Part> halves(std::uint32_t level) const {
    const Part all = parts_[level];
    const Part low{all.first, all.count / 2}, high{all.first + low.count, all.count - low.count};
    return (own_ & distance(level)) == 0 ? std::pair(low, high) : std::pair(high, low);
  }

  void halve(std::uint32_t level, std::vector<SyncStep>& out) const {
    if (level == levels_) return give_back(level, out);
    const auto [mine, its] = halves(level);
    const bool begins = level == 0 && from_begun();
    swap(level, halve_ + level, its, begins ? SyncStep::Act::replace : SyncStep::Act::add, mine, out);
    if (begins) out[out.size() - 2].made = false;
  }
  // Whether the start row is used directly, without a copy in the made row.
  bool from_begun() const { return has_ == Has::begun && own_ >= extras_; }
  // Sends the finished part of a level to the partner of the level before.
  void give_back(std::uint32_t level, std::vector<SyncStep>& out) const {
    if (level > 0) {
      const auto [mine, its] = halves(level - 1);
      return swap(level - 1, halve_ + 2 * levels_ - level, mine, SyncStep::Act::replace, its, out);
    }
    if (own_ < extras_) {
      out.push_back(whole(SyncStep::Act::send, own_ + power_, unfold_));
      out.back().made = true;
    }
    out.push_back({.act = SyncStep::Act::done});
  }

  void swap(std::uint32_t level, std::uint32_t round, Part sent, SyncStep::Act act, Part taken,
            std::vector<SyncStep>& out) const {
    const std::uint32_t peer = ranks_[own_ ^ distance(level)];
    out.push_back(part(SyncStep::Act::send, peer, sent, round));
    out.back().made = true;
    out.push_back(part(act, peer, taken, round));
  }
  static SyncStep part(SyncStep::Act act, std::uint32_t peer, Part part, std::uint32_t round) {
    return {.act = act, .peer = peer, .first = part.first, .count = part.count, .round = round};
  }
  SyncStep whole(SyncStep::Act act, std::size_t with, std::uint32_t round) const {
    return {.act = act, .peer = ranks_[with], .count = elements_, .round = round};
  }

  std::vector<std::uint32_t> ranks_;
  std::size_t own_, power_, extras_; // the first `extras_` ranks below `power_` have a partner beyond it
  std::int64_t elements_;
  Has has_;
  std::uint32_t fold_, halve_, levels_, unfold_; // first round of each stage
  std::vector<Part> parts_;                      // the remaining part at each level
};

} // namespace dlhost::plugins
