// Servers of several groups that gossip, some of which are lost and replaced at drawn moments: what each had told
// others that it learned is in all values at the end, once.
#include "param/exchange/gossip.h"

#include <deque>
#include <map>

#include <dlhost/random.h>

#include "../run/share.h"
#include "served.h"

namespace dlhost::param {
namespace {

using testing::Each;

constexpr std::uint32_t groups = 7;
constexpr std::size_t gossiped = 3;

// One process of a group: its memory outlives it, and nothing else does.
class Gossiper : public Served {
 public:
  void TestBody() override {}

  struct Memory {
    std::vector<std::byte> rows;
    std::uint64_t place = 0; // of what it published
    bool published = false;
    Version version = 0;
  };
  using Mail = std::function<void(std::uint32_t from, std::uint32_t to, const ToNeighbour&)>;

  Gossiper(std::uint32_t rank, const Sync& sync, std::vector<std::unique_ptr<Memory>>& memories, Mail mail) {
    lay_out("sgd", "strict", {1, 1, 1}, 1, GroupSync::shared_rows(sync, false));
    Neighbours neighbours{
        .rank = rank, .all = {}, .memory = memories[rank]->rows, .sync = &sync, .activity = &activity_};
    for (std::uint32_t other = 0; other < groups; ++other) neighbours.all.push_back({other, memories[other]->rows});
    neighbours.send = [rank, mail = std::move(mail)](std::uint32_t seat, const ToNeighbour& message, auto) {
      mail(rank, seat, message);
      return Status();
    };
    Memory* const own = memories[rank].get();
    auto made = GroupSync::make({.neighbours = std::move(neighbours),
                                 .mends = true,
                                 .masters = &*masters_,
                                 .store = &*store_,
                                 .outlived_by = [&memories](std::uint32_t lost, const Slice&,
                                                            std::span<float> learned) -> std::optional<Version> {
                                   const Memory& left = *memories[lost];
                                   if (!left.published) return {};
                                   std::copy_n(reinterpret_cast<const float*>(left.rows.data() + left.place),
                                               learned.size(), learned.begin());
                                   return left.version;
                                 },
                                 .publish =
                                     [own](std::size_t, Version version, std::uint64_t place) {
                                       *own = {std::move(own->rows), place, true, version};
                                       return Status();
                                     }},
                                std::array{&slices_[0]});
    EXPECT_TRUE(made.ok()) << made.status().message();
    sync_ = *std::move(made);
  }

  float* value() { return reinterpret_cast<float*>(masters_->value(0, 0).data()); }
  std::span<float> begun() { return {reinterpret_cast<float*>(masters_->shared(0, 1).data()), gossiped}; }
  void start() { EXPECT_TRUE(sync_->start(0, version_, value()).ok()); }
  void take(std::uint32_t from, const ToNeighbour& message) {
    const auto news = sync_->take(0, from, message);
    EXPECT_TRUE(news.ok()) << news.status().message();
    conclude();
  }
  void conclude() {
    if (sync_->is_joining() || !sync_->has_news(0)) return;
    EXPECT_TRUE(sync_->conclude(0, version_, value(), value()).ok());
  }
  void hear_of_groups() {
    conclude();
    for (const GroupSync::Early& early : sync_->early()) take(early.from, early.message);
  }

  const Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{gossiped}, 1, 100);
  std::unique_ptr<GroupSync> sync_;
  Version version_ = 0;
};

// Messages of two groups keep their order; any pair's may come next. Word of a loss comes to each at a moment of its
// own.
class World {
 public:
  World(int children, std::uint64_t seed) : random_({seed, 0}, 0, 0) {
    dlhost::Table options;
    options.entries.emplace_back("children", Value{std::int64_t{children}});
    sync_ = *registry_.create<Sync>("gossip", options);
    for (std::uint32_t rank = 0; rank < groups; ++rank) new_memory(rank);
    for (std::uint32_t rank = 0; rank < groups; ++rank) {
      start_process(rank);
      servers_[rank]->sync_->begin({});
    }
  }
  std::uint32_t below(std::uint32_t n) { return random_.below(n); }

  // Everything is a whole number, so that sums are exact.
  void learn() {
    const std::uint32_t rank = below(groups);
    if (dead_[rank] || servers_[rank]->sync_->is_joining()) return;
    const auto much = static_cast<float>(1 + below(9));
    for (std::size_t i = 0; i < gossiped; ++i) servers_[rank]->value()[i] += much;
    unpublished_[rank] += much;
    ++servers_[rank]->version_;
    if (below(3) > 0) return;
    servers_[rank]->start(); // whatever is lost from here on had been published before it was told
    learned_ += std::exchange(unpublished_[rank], 0.0F);
  }
  bool deliver() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ways;
    for (const auto& [way, queue] : mail_)
      if (!queue.empty() && !dead_[way.second]) ways.push_back(way);
    if (ways.empty()) return false;
    const auto way = ways[below(static_cast<std::uint32_t>(ways.size()))];
    const auto message = mail_[way].front();
    mail_[way].pop_front();
    if (!message) { // its place in the queue is behind all that the lost one had sent
      EXPECT_TRUE(servers_[way.second]->sync_->lose(way.first).ok());
      servers_[way.second]->hear_of_groups();
    } else {
      servers_[way.second]->take(way.first, *message);
    }
    return true;
  }
  // One stays that has its values.
  void lose() {
    const std::uint32_t rank = below(groups);
    std::uint32_t others = 0;
    for (std::uint32_t other = 0; other < groups; ++other)
      if (other != rank && !dead_[other] && !servers_[other]->sync_->is_joining()) ++others;
    if (dead_[rank] || others == 0) return;
    dead_[rank] = true;
    unpublished_[rank] = 0;
    ++lost_;
    for (std::uint32_t other = 0; other < groups; ++other) {
      mail_[{other, rank}].clear();
      if (!dead_[other]) mail_[{rank, other}].push_back(std::nullopt);
    }
  }
  // One at a time, when all have heard that it is lost; it may be lost again before it has joined.
  void replace() {
    const auto found = std::ranges::find(dead_, true);
    if (is_anyone_joining() || found == dead_.end()) return;
    const auto rank = static_cast<std::uint32_t>(found - dead_.begin());
    for (std::uint32_t other = 0; other < groups; ++other) {
      if (dead_[other]) continue;
      while (!mail_[{rank, other}].empty()) { // word of what is lost comes first
        const auto message = mail_[{rank, other}].front();
        mail_[{rank, other}].pop_front();
        if (message) {
          servers_[other]->take(rank, *message);
          continue;
        }
        EXPECT_TRUE(servers_[other]->sync_->lose(rank).ok());
        servers_[other]->hear_of_groups();
      }
    }
    const Version version = memories_[rank]->published ? memories_[rank]->version : versions_[rank];
    versions_[rank] = version;
    left_.push_back(std::move(memories_[rank])); // whoever reads it still may
    new_memory(rank);
    start_process(rank);
    dead_[rank] = false;
    Joining joining{.order = ++joins_, .times_aligned = times_aligned_};
    for (std::uint32_t other = 0; other < groups; ++other)
      if (dead_[other]) joining.lost.push_back(other);
    for (std::uint32_t other = 0; other < groups; ++other) {
      if (other == rank || dead_[other]) continue;
      EXPECT_TRUE(servers_[other]->sync_->join(rank, memories_[rank]->rows, joins_).ok());
      servers_[other]->hear_of_groups();
    }
    Gossiper& server = *servers_[rank];
    server.version_ = version;
    std::ranges::fill(server.begun(), 1.0F);
    server.sync_->begin({.version = version, .joining = joining});
    EXPECT_TRUE(server.sync_->recall().ok());
  }
  void align() {
    ++times_aligned_;
    for (std::uint32_t rank = 0; rank < groups; ++rank) {
      if (dead_[rank]) continue;
      EXPECT_TRUE(servers_[rank]->sync_->align(0, servers_[rank]->version_, 0));
      servers_[rank]->start();
      learned_ += std::exchange(unpublished_[rank], 0.0F);
    }
  }
  bool is_anyone_joining() const {
    for (std::uint32_t rank = 0; rank < groups; ++rank)
      if (!dead_[rank] && servers_[rank]->sync_->is_joining()) return true;
    return false;
  }
  void deliver_all() {
    while (deliver()) {
    }
  }
  void all_have_all() {
    for (std::uint32_t rank = 0; rank < groups; ++rank) {
      if (dead_[rank]) continue;
      EXPECT_TRUE(servers_[rank]->sync_->is_aligned()) << rank;
      EXPECT_THAT(std::span(servers_[rank]->value(), gossiped), Each(1 + learned_)) << "group " << rank;
    }
  }

  std::uint32_t lost() const { return lost_; }
  bool is_anyone_lost() const { return std::ranges::find(dead_, true) != dead_.end(); }

 private:
  void new_memory(std::uint32_t rank) {
    memories_.resize(groups);
    memories_[rank] = std::make_unique<Gossiper::Memory>();
    memories_[rank]->rows.resize(GroupSync::bytes({sync_.get(), {rank, groups, {}}, {}}, slices_, 0));
  }
  void start_process(std::uint32_t rank) {
    servers_.resize(groups);
    servers_[rank] = std::make_unique<Gossiper>(
        rank, *sync_, memories_, [this](std::uint32_t from, std::uint32_t to, const ToNeighbour& message) {
          if (!dead_[to]) mail_[{from, to}].push_back(message);
        });
  }

  const Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{gossiped}, 1, 100);
  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Sync> sync_;
  Random random_;
  std::vector<std::unique_ptr<Gossiper::Memory>> memories_, left_;
  std::vector<std::unique_ptr<Gossiper>> servers_;
  // None: word that the sender is lost.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::optional<ToNeighbour>>> mail_;
  std::array<bool, groups> dead_{};
  std::array<float, groups> unpublished_{};
  std::array<Version, groups> versions_{};
  float learned_ = 0; // by all, that any may have been told of
  std::uint32_t joins_ = 0, lost_ = 0;
  std::uint64_t times_aligned_ = 0;
};

class GossipTest : public testing::TestWithParam<int> {};

TEST_P(GossipTest, WhatWasToldIsInAllOnceWhoeverIsLost) {
  std::uint32_t lost = 0;
  for (std::uint64_t seed = 1; seed <= test::seeds(40) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(GetParam(), seed);
    for (int turn = 0; turn < 600; ++turn) {
      const std::uint32_t what = world.below(40);
      if (what == 0)
        world.lose();
      else if (what == 1)
        world.replace();
      else if (what < 12)
        world.learn();
      else
        world.deliver();
    }
    world.deliver_all();
    world.align();
    world.deliver_all();
    world.all_have_all(); // without those that are lost still
    while (world.is_anyone_lost() && !HasFailure()) {
      world.replace();
      world.deliver_all();
    }
    world.align();
    world.deliver_all();
    world.all_have_all();
    lost += world.lost();
  }
  EXPECT_GT(lost, 40U) << "this shows nothing";
}

// Those that stand still for it do so until all that are left have told all.
TEST_P(GossipTest, GroupsThatAreLostWhileAllAreAlignedAreGoneAround) {
  for (std::uint64_t seed = 1; seed <= test::seeds(60) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(GetParam(), seed);
    for (int hold = 0; hold < 6 && !HasFailure(); ++hold) {
      for (int turn = 0; turn < 100; ++turn) {
        const std::uint32_t what = world.below(20);
        if (what == 0)
          world.lose();
        else if (what == 1)
          world.replace();
        else if (what < 8)
          world.learn();
        else
          world.deliver();
      }
      while (world.is_anyone_joining() && world.deliver()) {
      }
      ASSERT_FALSE(world.is_anyone_joining());
      world.align();
      for (std::uint32_t losses = world.below(3); losses > 0; --losses) {
        for (std::uint32_t turns = world.below(40); turns > 0; --turns) world.deliver();
        world.lose();
        world.align();
      }
      world.deliver_all();
      world.all_have_all();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, GossipTest, testing::Values(1, 2, 6));

} // namespace
} // namespace dlhost::param
