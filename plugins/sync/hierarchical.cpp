// A hierarchy: the first rank of each host sums its host's rows. The first ranks halve and double among themselves, so
// that each byte crosses between hosts as rarely as possible, and pass the sum on to their hosts.
#include <algorithm>

#include <dlhost/plugin.h>

#include "halving.h"
#include "merging.h"

namespace dlhost::plugins {
namespace {

class Hosts final : public Exchange {
 public:
  Hosts(const Sync::Ranks& ranks, std::int64_t elements) : rank_(ranks.rank), elements_(elements) {
    const std::uint32_t host = ranks.hosts[rank_];
    first_ = static_cast<std::uint32_t>(std::ranges::lower_bound(ranks.hosts, host) - ranks.hosts.begin());
    end_ = static_cast<std::uint32_t>(std::ranges::upper_bound(ranks.hosts, host) - ranks.hosts.begin());
    if (rank_ != first_) return;
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t rank = 0; rank < ranks.count; ++rank)
      if (rank == 0 || ranks.hosts[rank] != ranks.hosts[rank - 1]) firsts.push_back(rank);
    const auto own = static_cast<std::size_t>(std::ranges::find(firsts, rank_) - firsts.begin());
    between_ = std::make_unique<Halving>(std::move(firsts), own, elements, Halving::Has::made, between);
  }

  void begin(std::vector<SyncStep>& out) override {
    if (rank_ != first_) {
      out.push_back({.act = SyncStep::Act::send, .peer = first_, .count = elements_, .round = gather});
      out.push_back({.act = SyncStep::Act::replace, .peer = first_, .count = elements_, .round = spread});
      return;
    }
    out.push_back({.act = SyncStep::Act::replace, .peer = rank_, .count = elements_});
    add(first_ + 1, out);
  }

  void arrived(std::uint32_t peer, std::uint32_t round, std::vector<SyncStep>& out) override {
    if (round == gather) return add(peer + 1, out);
    if (round == spread) return out.push_back({.act = SyncStep::Act::done});
    between_->arrived(peer, round, out);
    tell_if_done(out);
  }

 private:
  static constexpr std::uint32_t gather = 0, spread = 1, between = 2; // rounds; those between hosts start there

  void add(std::uint32_t peer, std::vector<SyncStep>& out) const {
    if (peer < end_)
      return out.push_back({.act = SyncStep::Act::add, .peer = peer, .count = elements_, .round = gather});
    between_->begin(out);
    tell_if_done(out);
  }
  void tell_if_done(std::vector<SyncStep>& out) const {
    if (out.empty() || out.back().act != SyncStep::Act::done) return;
    out.pop_back();
    for (std::uint32_t peer = first_ + 1; peer < end_; ++peer)
      out.push_back({.act = SyncStep::Act::send, .peer = peer, .count = elements_, .round = spread, .made = true});
    out.push_back({.act = SyncStep::Act::done});
  }

  std::uint32_t rank_, first_ = 0, end_ = 0; // the ranks of its host
  std::int64_t elements_;
  std::unique_ptr<Halving> between_; // for the first rank of a host
};

} // namespace

class Hierarchical final : public MergingSync<Hosts> {
 public:
  static constexpr std::string_view name = "hierarchical";
  static Schema schema() {
    return merging_schema("The first rank of each host adds up the data of its host's ranks, and the first ranks use "
                          "halving and doubling: the fewest bytes between hosts, for any number of ranks on a host.");
  }
  using MergingSync::MergingSync;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Hierarchical);
