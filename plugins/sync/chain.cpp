// A chain: the differences are summed from the first rank to the last, and the sum goes back.
#include <dlhost/plugin.h>

#include "merging.h"

namespace dlhost::plugins {
namespace {

class Link final : public Exchange {
 public:
  Link(const Sync::Ranks& ranks, std::int64_t elements)
      : rank_(ranks.rank), last_(ranks.count - 1), elements_(elements) {}

  void begin(std::vector<SyncStep>& out) override {
    if (rank_ > 0)
      out.push_back({.act = SyncStep::Act::replace, .peer = rank_ - 1, .count = elements_});
    else
      add_own(SyncStep::Act::replace, out);
  }
  void arrived(std::uint32_t, std::uint32_t round, std::vector<SyncStep>& out) override {
    if (round == there)
      add_own(SyncStep::Act::add, out);
    else
      send_back(out);
  }

 private:
  static constexpr std::uint32_t there = 0, back = 1; // rounds

  void add_own(SyncStep::Act act, std::vector<SyncStep>& out) const {
    out.push_back({.act = act, .peer = rank_, .count = elements_});
    if (rank_ == last_) return send_back(out);
    out.push_back({.act = SyncStep::Act::send, .peer = rank_ + 1, .count = elements_, .round = there, .made = true});
    out.push_back({.act = SyncStep::Act::replace, .peer = rank_ + 1, .count = elements_, .round = back});
  }
  void send_back(std::vector<SyncStep>& out) const {
    if (rank_ > 0)
      out.push_back({.act = SyncStep::Act::send, .peer = rank_ - 1, .count = elements_, .round = back, .made = true});
    out.push_back({.act = SyncStep::Act::done});
  }

  std::uint32_t rank_, last_;
  std::int64_t elements_;
};

} // namespace

class Chain final : public MergingSync<Link> {
 public:
  static constexpr std::string_view name = "chain";
  static Schema schema() {
    return merging_schema("Changes are added up along a chain, and the sum goes back: 2 (N - "
                          "1) rounds, each link carries a slice's bytes twice.");
  }
  using MergingSync::MergingSync;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Chain);
