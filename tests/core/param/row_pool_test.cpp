// Several server groups whose slices share the rows that they are exchanged by: in whatever order slices are due and
// messages come, no server waits for ever, and what each has learned gets to all once.
#include "param/exchange/row_pool.h"

#include <deque>
#include <random>

#include "../run/share.h"
#include "param/exchange/group_sync.h"
#include "served.h"

namespace dlhost::param {
namespace {

constexpr std::int64_t pooled_elements = 200;
constexpr std::size_t one_place = 1; // byte: less than any place takes

struct Entry {
  std::uint32_t from, to;
  ToNeighbour message;

  SliceId slice() const {
    return std::visit([](const auto& one) { return one.slice; }, message);
  }
};

// What a shard does for its slices (param/server/value_exchange.cpp).
class SharingServer : public Served {
 public:
  struct Kind {
    bool in_step;
    std::size_t bound;
  };
  void TestBody() override {}

  void make(const Neighbours& neighbours, const Kind& kind, std::deque<Entry>& mail, const Slices& slices) {
    lay_out("sgd", "strict", std::vector<float>(pooled_elements, 1), 2,
            GroupSync::shared_rows(*neighbours.sync, false));
    Neighbours own = neighbours;
    own.activity = &activity_;
    own.send = [rank = own.rank, &mail](std::uint32_t seat, const ToNeighbour& message, auto) {
      mail.push_back({rank, seat, message});
      return Status();
    };
    for (const Slice& slice : slices.all()) slices_.push_back(&slice);
    auto made = GroupSync::make({.neighbours = own,
                                 .in_step = kind.in_step,
                                 .rows_bound = kind.bound,
                                 .masters = &*masters_,
                                 .store = &*store_},
                                slices_);
    ASSERT_TRUE(made.ok()) << made.status().message();
    sync_ = *std::move(made);
    sync_->begin({});
    current_.resize(slices_.size());
    versions_.resize(slices_.size());
  }
  GroupSync& sync() { return *sync_; }
  std::span<float> value(std::size_t which, std::size_t place) {
    const Slice& slice = *slices_[which];
    float* all = reinterpret_cast<float*>(masters_->value(0, place).data());
    return {all + slice.first, static_cast<std::size_t>(slice.count)};
  }
  std::span<float> value(std::size_t which) { return value(which, current_[which]); }
  Version version(std::size_t which) const { return versions_[which]; }

  void learn(std::size_t which, float much) {
    for (float& element : value(which)) element += much;
    ++versions_[which];
    exchange(which);
  }
  void take(const Entry& entry) {
    const SliceId slice = entry.slice();
    const auto news = sync_->take(slice, entry.from, entry.message);
    ASSERT_TRUE(news.ok()) << news.status().message();
    if (*news == GroupSync::News::over) conclude(slice);
    if (*news == GroupSync::News::join) exchange(slice);
    go_on();
  }
  void exchange(std::size_t which) {
    if (!sync_->is_on(which) && sync_->is_due(which, versions_[which])) start(which);
  }

 private:
  void start(std::size_t which) {
    const auto over = sync_->start(which, versions_[which], value(which).data());
    ASSERT_TRUE(over.ok()) << over.status().message();
    if (*over) conclude(which);
  }
  // By turns where the value is, and where it is not.
  void conclude(std::size_t which) {
    const std::size_t next = ++concluded_ % 2 == 0 ? current_[which] : 1 - current_[which];
    const Status status = sync_->conclude(which, versions_[which], value(which).data(), value(which, next).data());
    ASSERT_TRUE(status.ok()) << status.message();
    current_[which] = next;
    exchange(which);
    go_on();
  }
  void go_on() {
    while (const auto which = sync_->next()) start(*which);
  }

  std::vector<const Slice*> slices_;
  std::unique_ptr<GroupSync> sync_;
  std::vector<std::size_t> current_;
  std::vector<Version> versions_;
  std::size_t concluded_ = 0;
};

class RowPoolTest : public testing::Test {
 protected:
  static constexpr std::uint32_t groups = 3;

  void make(const std::string& name, const SharingServer::Kind& kind) {
    mail_.clear();
    sync_ = *registry_.create<Sync>(name, dlhost::Table{.entries = {{"sum", Value{true}}}});
    const std::vector<std::uint32_t> machines(groups);
    memories_.assign(groups, {});
    servers_ = std::vector<SharingServer>(groups);
    std::vector<Neighbours::One> all;
    for (std::uint32_t rank = 0; rank < groups; ++rank) {
      memories_[rank].resize(GroupSync::bytes({sync_.get(), {rank, groups, machines}, {}}, slices_, 0, kind.bound));
      all.push_back({rank, memories_[rank]});
    }
    for (std::uint32_t rank = 0; rank < groups; ++rank)
      servers_[rank].make({.rank = rank, .all = all, .memory = memories_[rank], .sync = sync_.get()}, kind, mail_,
                          slices_);
  }
  // Those of one slice come in their order.
  void deliver_any(std::mt19937& random) {
    std::size_t at = random() % mail_.size();
    for (std::size_t before = 0; before < at; ++before)
      if (mail_[before].from == mail_[at].from && mail_[before].to == mail_[at].to &&
          mail_[before].slice() == mail_[at].slice())
        at = before;
    const Entry entry = mail_[at];
    mail_.erase(mail_.begin() + static_cast<std::ptrdiff_t>(at));
    servers_[entry.to].take(entry);
  }
  void deliver_all(std::mt19937& random) {
    while (!mail_.empty() && !HasFatalFailure()) deliver_any(random);
  }
  // As the run's leader does it (run/worker/alignment.cpp).
  void align(std::mt19937& random) {
    for (SharingServer& server : servers_)
      for (std::size_t which = 0; which < slices_.size(); ++which)
        if (server.sync().align(which, server.version(which), 0)) server.exchange(which);
    deliver_all(random);
    for (std::size_t which = 0; which < slices_.size(); ++which) {
      std::uint64_t most = 0;
      for (SharingServer& server : servers_) most = std::max(most, server.sync().exchanges(which));
      for (SharingServer& server : servers_)
        if (server.sync().exchanges(which) < most && server.sync().align_through(which, most)) server.exchange(which);
    }
    deliver_all(random);
  }

  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  const Slices slices_ = Slices::cut(std::array{pooled_elements}, 1, 1, {}, 60);
  std::unique_ptr<Sync> sync_;
  std::vector<std::vector<std::byte>> memories_;
  std::deque<Entry> mail_;
  std::vector<SharingServer> servers_;
};

TEST_F(RowPoolTest, WhateverIsDueWhenAllIsExchangedOnceAndNoServerWaitsForEver) {
  ASSERT_EQ(slices_.size(), 4U);
  for (const std::string name :
       {"all_to_all", "chain", "halving", "hierarchical", "ring", "shares", "star", "twin_master"})
    for (const bool in_step : {false, true})
      for (const std::size_t bound : {one_place, std::size_t{2 * 2 * 16 * sizeof(float)}, std::size_t{0}})
        for (std::uint64_t seed = 1; seed <= test::seeds(6); ++seed) {
          SCOPED_TRACE(concat(name, in_step ? ", in step" : "", ", bound ", bound, ", seed ", seed));
          make(name, {.in_step = in_step, .bound = bound});
          std::mt19937 random(seed);
          std::vector<float> learned(slices_.size(), 1);
          // Each learns as often of each slice, in an order of its own.
          std::vector<std::pair<std::uint32_t, std::size_t>> lessons;
          for (std::uint32_t rank = 0; rank < groups; ++rank)
            for (std::size_t which = 0; which < slices_.size(); ++which)
              lessons.insert(lessons.end(), 3, {rank, which});
          std::ranges::shuffle(lessons, random);
          while (!lessons.empty() && !HasFatalFailure()) {
            const auto free = std::ranges::find_if(lessons, [&](const auto& lesson) {
              return !in_step || !servers_[lesson.first].sync().is_on(lesson.second);
            });
            if (free != lessons.end() && (mail_.empty() || random() % 3 == 0)) {
              const auto [rank, which] = *free;
              lessons.erase(free);
              const auto much = static_cast<float>(1 + random() % 100);
              learned[which] += much;
              servers_[rank].learn(which, much);
            } else {
              ASSERT_FALSE(mail_.empty()) << "all wait";
              deliver_any(random);
            }
          }
          deliver_all(random);
          align(random);
          for (SharingServer& server : servers_) {
            ASSERT_TRUE(server.sync().is_aligned());
            for (std::size_t which = 0; which < slices_.size(); ++which)
              ASSERT_THAT(server.value(which), testing::Each(learned[which])) << "slice " << which;
          }
          if (HasFatalFailure()) return;
        }
}

// The first group's server says the turns, and alone; what has the places is waited for.
TEST_F(RowPoolTest, TurnsAreThoseOfTheFirstGroup) {
  make("all_to_all", {.in_step = true, .bound = one_place});
  GroupSync& second = servers_[1].sync();
  servers_[1].learn(0, 1);
  EXPECT_TRUE(second.is_on(0));
  EXPECT_TRUE(mail_.empty());
  EXPECT_EQ(second.first_missing(0), 0U) << "which has not said the turn";
  servers_[0].learn(1, 1);
  EXPECT_EQ(servers_[0].sync().first_missing(1), 1U);
  servers_[0].learn(0, 1);
  EXPECT_EQ(servers_[0].sync().first_missing(0), 1U) << "for the place that another slice has";
  const auto refusal = [&](std::uint32_t seat, std::uint64_t turn, std::uint64_t number) {
    return second.take(2, seat, to_neighbour::Call{.slice = 2, .exchange = number, .turn = turn}).status().message();
  };
  EXPECT_THAT(refusal(2, 3, 1), testing::HasSubstr("seat 2 is in exchange 1"));
  EXPECT_THAT(refusal(0, 0, 1), testing::HasSubstr("seat 0 is in exchange 1"));
  EXPECT_THAT(refusal(0, 3, 2), testing::HasSubstr("seat 0 is in exchange 2"));
  EXPECT_EQ(refusal(0, 3, 1), "");
  EXPECT_FALSE(second.take(0, 0, to_neighbour::Part{.section = 99, .exchange = 1}).ok());
}

TEST_F(RowPoolTest, PlacesAreFewAndEachSectionFits) {
  std::vector<Slice> cut{{.id = 0, .first = 0, .count = 8'000'000}, {.id = 1, .param = 1, .first = 0, .count = 500}};
  const std::vector<const Slice*> slices{&cut[0], &cut[1]};
  const auto bytes = [](const RowPlan& plan) {
    std::size_t end = 0;
    plan.add_bytes(end);
    return end;
  };
  const RowPlan plan = RowPlan::of(slices, {}, 0);
  ASSERT_TRUE(plan.shared);
  EXPECT_GE(plan.places, RowPlan::least_places);
  EXPECT_LE(bytes(plan), std::size_t{32'002'000} / 4);
  std::int64_t next = 0;
  for (const Slice& section : plan.cut(cut[0])) {
    EXPECT_EQ(section.first, next);
    EXPECT_LE(section.count, plan.longest);
    next += section.count;
  }
  EXPECT_EQ(next, cut[0].count);
  EXPECT_EQ(plan.cut(cut[1]).size(), 1U);
  const RowPlan least = RowPlan::of(slices, {}, 1);
  EXPECT_EQ(least.places, 1U);
  EXPECT_LT(least.cut(cut[0]).size(), std::size_t{1} << 16); // a message has so many bits for the number of one
  EXPECT_FALSE(RowPlan::of(slices, {}, std::size_t{1} << 30).shared);
  EXPECT_FALSE(RowPlan::of(std::span(slices).last(1), {}, 0).shared);
}

} // namespace
} // namespace dlhost::param
