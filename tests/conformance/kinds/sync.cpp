// Syncs: every rank starts with small integers and ends with what the traits say, whatever order messages arrive in.
#include <algorithm>
#include <tuple>

#include <dlhost/random.h>
#include <dlhost/sync.h>

#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

constexpr std::int64_t elements = 23;

struct Message {
  std::uint32_t from = 0, round = 0;
  std::int64_t first = 0;
  std::vector<double> values;
};

// Core's part: moves what exchanges send, and applies it where the receiver has said how.
class Group {
 public:
  Group(Sync& sync, std::uint32_t count, std::uint32_t seed) : random_({seed, 6}, 0, 0), ranks_(count) {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      ranks_[rank].exchange = sync.start(rank, count, elements);
      for (std::int64_t i = 0; i < elements; ++i)
        ranks_[rank].values.push_back(static_cast<double>((rank + 1) * 10 + static_cast<std::uint32_t>(i)));
    }
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      std::vector<SyncStep> steps;
      ranks_[rank].exchange->begin(steps);
      take(rank, steps);
    }
  }

  void run() {
    for (int turn = 0; !all_done(); ++turn) {
      ASSERT_LT(turn, 100000) << "the exchange does not end";
      if (!deliver_one()) {
        ASSERT_TRUE(all_done()) << "everybody waits, and nothing is on its way";
        return;
      }
    }
  }

  const std::vector<double>& values(std::uint32_t rank) const { return ranks_[rank].values; }

 private:
  struct Rank {
    std::unique_ptr<Exchange> exchange;
    std::vector<double> values;
    std::vector<SyncStep> awaited;
    std::vector<Message> inbox; // of each peer in the order of its rounds
    bool done = false;
  };

  void take(std::uint32_t rank, const std::vector<SyncStep>& steps) {
    for (const auto& step : steps) {
      const bool inside = step.first >= 0 && step.count >= 0 && step.first + step.count <= elements;
      ASSERT_TRUE(step.act == SyncStep::Act::done || (inside && step.peer < ranks_.size()));
      if (step.act == SyncStep::Act::done) {
        ASSERT_FALSE(ranks_[rank].done) << "is done twice";
        ranks_[rank].done = true;
      } else if (step.act == SyncStep::Act::send) {
        ASSERT_NE(step.peer, rank);
        Message message{.from = rank, .round = step.round, .first = step.first};
        for (std::int64_t i = 0; i < step.count; ++i)
          message.values.push_back(ranks_[rank].values[static_cast<std::size_t>(step.first + i)] *
                                   static_cast<double>(step.factor));
        ranks_[step.peer].inbox.push_back(std::move(message));
      } else {
        ranks_[rank].awaited.push_back(step);
      }
    }
  }

  bool all_done() const {
    return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.done; });
  }

  // Any message that its receiver awaits; false when there is none.
  bool deliver_one() {
    struct Choice {
      std::uint32_t rank;
      std::size_t message, step;
    };
    std::vector<Choice> choices;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::size_t m = 0; m < ranks_[rank].inbox.size(); ++m)
        for (std::size_t s = 0; s < ranks_[rank].awaited.size(); ++s) {
          const auto& [message, step] = std::tie(ranks_[rank].inbox[m], ranks_[rank].awaited[s]);
          if (message.from == step.peer && message.round == step.round) choices.push_back({rank, m, s});
        }
    if (choices.empty()) return false;
    const Choice chosen = choices[random_.below(static_cast<std::uint32_t>(choices.size()))];
    Rank& rank = ranks_[chosen.rank];
    const Message message = rank.inbox[chosen.message];
    const SyncStep step = rank.awaited[chosen.step];
    rank.inbox.erase(rank.inbox.begin() + static_cast<std::ptrdiff_t>(chosen.message));
    rank.awaited.erase(rank.awaited.begin() + static_cast<std::ptrdiff_t>(chosen.step));
    EXPECT_EQ(message.values.size(), static_cast<std::size_t>(step.count)) << "another range than is awaited";
    for (std::int64_t i = 0; i < step.count && i < static_cast<std::int64_t>(message.values.size()); ++i) {
      double& value = rank.values[static_cast<std::size_t>(step.first + i)];
      const double sent = message.values[static_cast<std::size_t>(i)];
      value = step.act == SyncStep::Act::add ? value + sent : sent;
    }
    std::vector<SyncStep> more;
    rank.exchange->arrived(message.from, message.round, more);
    take(chosen.rank, more);
    return true;
  }

  Random random_;
  std::vector<Rank> ranks_;
};

void ends_as_its_traits_say(const Context& context, const std::string& name) {
  for (const std::uint32_t count : {1U, 2U, 3U, 4U, 7U})
    for (std::uint32_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(concat(count, " ranks, seed ", seed));
      const auto sync = usable<Sync>(context, name);
      Group group(*sync, count, seed);
      group.run();
      if (testing::Test::HasFatalFailure()) return;
      for (std::int64_t i = 0; sync->traits().exact && i < elements; ++i) {
        double wanted = 0;
        for (std::uint32_t rank = 0; rank < count; ++rank)
          wanted += static_cast<double>((rank + 1) * 10 + static_cast<std::uint32_t>(i));
        if (sync->traits().averages) wanted /= count;
        for (std::uint32_t rank = 0; rank < count; ++rank)
          ASSERT_NEAR(group.values(rank)[static_cast<std::size_t>(i)], wanted, sync->traits().averages ? 1e-3 : 0)
              << "element " << i << " of rank " << rank;
      }
    }
}

void says_when_a_peer_is_missed(const Context& context, const std::string& name) {
  const auto sync = usable<Sync>(context, name);
  auto exchange = sync->start(0, 3, elements);
  std::vector<SyncStep> steps;
  exchange->begin(steps);
  steps.clear();
  exchange->gone(1, steps);
  exchange->gone(2, steps);
  const bool ends = std::ranges::any_of(steps, [](const SyncStep& s) { return s.act == SyncStep::Act::done; });
  EXPECT_TRUE(ends || !sync->traits().tolerates_loss) << "tolerates loss, but waits for the lost";
  EXPECT_GE(sync->traits().every, 1U);
}

} // namespace

void register_sync_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::sync, name, "ends_as_its_traits_say", ends_as_its_traits_say);
  add_product_check(context, Kind::sync, name, "says_when_a_peer_is_missed", says_when_a_peer_is_missed);
}

} // namespace dlhost::conform
