// Syncs: every rank starts with small integers and ends with their sum, for any order of messages, and again.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include <gmock/gmock.h>

#include <dlhost/random.h>
#include <dlhost/sync.h>

#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

constexpr std::int64_t elements = 23;

struct Message {
  std::uint32_t from = 0, round = 0;
  std::int64_t first = 0, count = 0;
  bool made = false;
  std::vector<double> values; // at the time of sending
};

// Core has room for so many steps of a call, and messages, for each rank.
constexpr std::size_t most_steps = 4;

// Hosts of several ranks, or of one rank each. They hold nonsense when join() has returned.
std::unique_ptr<Exchange> join(const Sync& sync, std::uint32_t rank, std::uint32_t count, std::uint32_t seed,
                               std::vector<std::uint32_t>& hosts) {
  hosts.resize(count);
  for (std::uint32_t other = 0; other < count; ++other) hosts[other] = other / (1 + seed % 4);
  auto exchange = sync.join({rank, count, hosts}, elements);
  std::ranges::fill(hosts, ~0U);
  return exchange;
}

// Simulates core: moves the exchanges' messages and applies them as the receiver says.
class Group {
 public:
  Group(const Sync& sync, std::uint32_t count, std::uint32_t seed) : random_({seed, 6}, 0, 0), ranks_(count) {
    for (std::uint32_t rank = 0; rank < count; ++rank)
      ranks_[rank].exchange = join(sync, rank, count, seed, ranks_[rank].hosts);
  }

  static constexpr int fractions = 2; // exchange of numbers whose sum depends on the order

  // A rank's input to that exchange.
  static double learned(std::uint32_t rank, std::int64_t element, int exchange) {
    if (exchange == fractions) return 1.0 / (static_cast<double>(rank) + 3.0 + 0.1 * static_cast<double>(element));
    return static_cast<double>((rank + 1) * 10) + static_cast<double>(element) + 1000.0 * exchange;
  }

  // Ends before all messages are delivered, if there are more than `most`: a worker has died.
  void run(int exchange, int most = std::numeric_limits<int>::max()) {
    deliverable_.clear();
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      Rank& here = ranks_[rank];
      here.awaited.clear();
      here.inbox.clear();
      here.begun.clear();
      for (std::int64_t i = 0; i < elements; ++i) here.begun.push_back(learned(rank, i, exchange));
      here.made.assign(elements, -1e9); // must not be read before it is replaced
      here.done = false;
    }
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      std::vector<SyncStep> steps;
      ranks_[rank].exchange->begin(steps);
      take(rank, steps);
    }
    for (int turn = 0; !over() && turn < most && !testing::Test::HasFatalFailure(); ++turn) {
      ASSERT_LT(turn, 100000) << "the exchange does not end";
      ASSERT_TRUE(deliver_one()) << "somebody waits, or a message is not awaited, and nothing else is on its way";
    }
  }

  const std::vector<double>& made(std::uint32_t rank) const { return ranks_[rank].made; }

 private:
  using Which = std::pair<std::uint32_t, std::uint32_t>; // a message to a rank: its sender and round
  struct Rank {
    std::unique_ptr<Exchange> exchange;
    std::vector<std::uint32_t> hosts;
    std::vector<double> begun, made;
    std::map<Which, SyncStep> awaited;
    std::map<Which, Message> inbox;
    bool done = false;
  };

  void take(std::uint32_t rank, const std::vector<SyncStep>& steps) {
    const std::size_t most = most_steps * ranks_.size();
    ASSERT_LE(steps.size(), most) << "more steps of one call than core has room for";
    for (const auto& step : steps) {
      ASSERT_FALSE(ranks_[rank].done) << "goes on when it is done";
      const bool inside = step.first >= 0 && step.count >= 0 && step.first + step.count <= elements;
      ASSERT_TRUE(step.act == SyncStep::Act::done || (inside && step.peer < ranks_.size()));
      if (step.act == SyncStep::Act::done) {
        ranks_[rank].done = true;
        ASSERT_TRUE(ranks_[rank].awaited.empty()) << "done, and a message is still awaited";
      } else if (step.act == SyncStep::Act::send) {
        ASSERT_NE(step.peer, rank);
        Message message{.from = rank, .round = step.round, .first = step.first, .count = step.count, .made = step.made};
        message.values = part(message);
        const Which which{rank, step.round};
        const bool is_awaited = ranks_[step.peer].awaited.contains(which);
        ASSERT_TRUE(ranks_[step.peer].inbox.emplace(which, std::move(message)).second) << "two messages of one round";
        ASSERT_LE(ranks_[step.peer].inbox.size(), most) << "more messages than core has room for";
        if (is_awaited) deliverable_.emplace_back(step.peer, which);
      } else if (step.peer == rank) {
        put(rank, step, ranks_[rank].begun.data() + step.first);
      } else {
        const Which which{step.peer, step.round};
        ASSERT_TRUE(ranks_[rank].awaited.emplace(which, step).second) << "awaits a message twice";
        ASSERT_LE(ranks_[rank].awaited.size(), most) << "awaits more messages than core has room for";
        if (ranks_[rank].inbox.contains(which)) deliverable_.emplace_back(rank, which);
      }
    }
  }

  void put(std::uint32_t rank, const SyncStep& step, const double* values) {
    for (std::int64_t i = 0; i < step.count; ++i) {
      double& made = ranks_[rank].made[static_cast<std::size_t>(step.first + i)];
      made = step.act == SyncStep::Act::add ? made + values[i] : values[i];
    }
  }

  // The message's values as they are in the sender's memory now.
  std::vector<double> part(const Message& message) const {
    const Rank& sender = ranks_[message.from];
    const auto at = (message.made ? sender.made : sender.begun).begin() + message.first;
    return {at, at + message.count};
  }

  bool over() const {
    return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.done && rank.inbox.empty(); });
  }

  // Delivers a random awaited message; false if there is none.
  bool deliver_one() {
    if (deliverable_.empty()) return false;
    auto& chosen = deliverable_[random_.below(static_cast<std::uint32_t>(deliverable_.size()))];
    const auto [to, which] = std::exchange(chosen, deliverable_.back());
    deliverable_.pop_back();
    Rank& rank = ranks_[to];
    const Message message = std::move(rank.inbox.extract(which).mapped());
    const SyncStep step = rank.awaited.extract(which).mapped();
    EXPECT_EQ(message.first, step.first) << "another range than is awaited";
    EXPECT_EQ(message.count, step.count) << "another range than is awaited";
    EXPECT_EQ(message.values, part(message)) << "rank " << message.from << " wrote what it had sent before it was read";
    put(to, step, message.values.data());
    std::vector<SyncStep> more;
    rank.exchange->arrived(message.from, message.round, more);
    take(to, more);
    return true;
  }

  Random random_;
  std::vector<Rank> ranks_;
  std::vector<std::pair<std::uint32_t, Which>> deliverable_; // sent, and awaited by that rank
};

void all_end_with_the_sum(const Context& context, const std::string& name) {
  for (const std::uint32_t count : {1U, 2U, 3U, 4U, 5U, 7U, 40U})
    for (std::uint32_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(concat(count, " ranks, seed ", seed));
      const auto sync = usable<Sync>(context, name);
      if (!sync->neighbours(0, 2).empty()) return;
      Group group(*sync, count, seed);
      for (const int exchange : {0, 1}) {
        group.run(exchange);
        if (testing::Test::HasFatalFailure()) return;
        for (std::int64_t i = 0; i < elements; ++i) {
          double sum = 0;
          for (std::uint32_t rank = 0; rank < count; ++rank) sum += Group::learned(rank, i, exchange);
          for (std::uint32_t rank = 0; rank < count; ++rank)
            ASSERT_EQ(group.made(rank)[static_cast<std::size_t>(i)], sum) << "element " << i << " of rank " << rank;
        }
      }
    }
}

// A death ends an exchange after any number of messages. The exchanges after it start anew.
void starts_anew_after_a_death(const Context& context, const std::string& name) {
  for (const std::uint32_t count : {2U, 3U, 5U})
    for (int most = 0; most < 20; ++most) {
      SCOPED_TRACE(concat(count, " ranks, a death after ", most, " messages"));
      const auto sync = usable<Sync>(context, name);
      if (!sync->neighbours(0, 2).empty()) return;
      Group group(*sync, count, static_cast<std::uint32_t>(most));
      for (const int exchange : {0, 1}) {
        group.run(exchange, exchange == 0 ? most : std::numeric_limits<int>::max());
        if (testing::Test::HasFatalFailure()) return;
      }
      for (std::int64_t i = 0; i < elements; ++i) {
        double sum = 0;
        for (std::uint32_t rank = 0; rank < count; ++rank) sum += Group::learned(rank, i, 1);
        for (std::uint32_t rank = 0; rank < count; ++rank)
          ASSERT_EQ(group.made(rank)[static_cast<std::size_t>(i)], sum) << "element " << i << " of rank " << rank;
      }
    }
}

// A sum's order must not depend on the order of arrival, because replicas would diverge.
void makes_the_same_bits(const Context& context, const std::string& name) {
  for (const std::uint32_t count : {2U, 3U, 6U})
    for (std::uint32_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(concat(count, " ranks, seed ", seed));
      const auto sync = usable<Sync>(context, name);
      if (!sync->neighbours(0, 2).empty()) return;
      Group group(*sync, count, seed), again(*sync, count, seed + 100);
      group.run(Group::fractions);
      again.run(Group::fractions);
      if (testing::Test::HasFatalFailure()) return;
      for (std::uint32_t rank = 0; rank < count; ++rank) {
        EXPECT_EQ(group.made(rank), group.made(0)) << "rank " << rank;
        EXPECT_EQ(group.made(rank), again.made(rank)) << "rank " << rank << ", when others are first";
      }
    }
}

// One edge fewer than ranks, and all ranks reached: no cycle.
void gossips_along_a_tree(const Context& context, const std::string& name) {
  const auto sync = usable<Sync>(context, name);
  const bool gossips = !sync->neighbours(0, 2).empty();
  for (const std::uint32_t count : {1U, 2U, 3U, 4U, 7U, 40U}) {
    SCOPED_TRACE(concat(count, " ranks"));
    std::size_t ends = 0;
    std::vector<bool> reached(count);
    std::vector<std::uint32_t> next{0};
    for (std::uint32_t rank = 0; rank < count; ++rank) ends += sync->neighbours(rank, count).size();
    EXPECT_EQ(ends, gossips ? 2 * (count - 1) : 0);
    while (gossips && !next.empty()) {
      const std::uint32_t rank = next.back();
      next.pop_back();
      reached[rank] = true;
      for (const std::uint32_t neighbour : sync->neighbours(rank, count)) {
        ASSERT_LT(neighbour, count);
        EXPECT_THAT(sync->neighbours(neighbour, count), testing::Contains(rank)) << "and not the other way round";
        if (!reached[neighbour]) next.push_back(neighbour);
      }
    }
    EXPECT_TRUE(!gossips || std::ranges::all_of(reached, std::identity())) << "some are never told";
    std::vector<std::uint32_t> hosts;
    EXPECT_EQ(join(*sync, 0, count, 0, hosts) == nullptr, gossips) << "either exchanges or gossip";
  }
}

void says_how_the_value_moves(const Context& context, const std::string& name) {
  const auto sync = usable<Sync>(context, name);
  EXPECT_GE(sync->traits().every, 1U);
  const Updater* outer = sync->outer();
  EXPECT_EQ(outer, sync->outer()) << "another updater at each call";
  if (!outer) return;
  const auto rule = outer->rule();
  EXPECT_TRUE(rule.partials.results().empty()) << "a slice's servers do not know sums over a param";
  EXPECT_EQ(rule.apply.results().size(), 1 + rule.history.size()) << "a new value, and one of each history";
}

} // namespace

void register_sync_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::sync, name, "all_end_with_the_sum", all_end_with_the_sum);
  add_product_check(context, Kind::sync, name, "starts_anew_after_a_death", starts_anew_after_a_death);
  add_product_check(context, Kind::sync, name, "makes_the_same_bits", makes_the_same_bits);
  add_product_check(context, Kind::sync, name, "gossips_along_a_tree", gossips_along_a_tree);
  add_product_check(context, Kind::sync, name, "says_how_the_value_moves", says_how_the_value_moves);
}

} // namespace dlhost::conform
