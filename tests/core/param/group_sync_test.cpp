// Two servers of two groups that exchange one slice: the results for their values, and invalid messages.
#include "param/exchange/group_sync.h"

#include <deque>

#include "served.h"

namespace dlhost::param {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// A message on its way.
struct Sent {
  std::uint32_t from = 0, to = 0;
  ToNeighbour message;
};

class Server : public Served {
 public:
  using Served::lay_out, Served::masters_, Served::store_;
  void TestBody() override {}

  void make(std::uint32_t rank, bool in_step, const Sync& sync, std::array<std::span<std::byte>, 2> memories,
            std::deque<Sent>& mail) {
    lay_out("sgd", "strict", {1, 2, 3, 4}, 1, GroupSync::shared_rows(sync, true));
    const Neighbours neighbours{.rank = rank,
                                .all = {{0, memories[0]}, {1, memories[1]}},
                                .memory = memories[rank],
                                .sync = &sync,
                                .activity = &activity_,
                                .send = [rank, &mail](std::uint32_t seat, const ToNeighbour& message, auto) {
                                  mail.push_back({rank, seat, message});
                                  return Status();
                                }};
    auto made = GroupSync::make(
        {.neighbours = neighbours, .in_step = in_step, .outlived = true, .masters = &*masters_, .store = &*store_},
        std::array{&slices_[0]});
    ASSERT_TRUE(made.ok()) << made.status().message();
    sync_ = *std::move(made);
    sync_->begin({});
  }

  std::span<float> value() { return {reinterpret_cast<float*>(masters_->value(0, 0).data()), 4}; }
  // The row of values heard from other groups, which outlives the server.
  std::span<const float> heard(const Sync& sync, std::size_t which) const {
    return {reinterpret_cast<float*>(masters_->shared(0, GroupSync::heard_row(sync, which)).data()), 4};
  }
  void learn(float much) {
    for (float& element : value()) element += much;
    ++version_;
  }
  void start() { ASSERT_TRUE(sync_->start(0, version_, value().data()).ok()); }
  // Takes a message and acts on the result, as the caller must.
  Status take(std::uint32_t from, const ToNeighbour& message) {
    DLHOST_ASSIGN(const auto news, sync_->take(0, from, message));
    if (news == GroupSync::News::join) return sync_->start(0, version_, value().data()).status();
    if (news == GroupSync::News::over) return sync_->conclude(0, version_, value().data(), value().data());
    return {};
  }

  const Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{4}, 1, 100);
  std::unique_ptr<GroupSync> sync_;
  Version version_ = 0;
};

class GroupSyncTest : public testing::Test {
 protected:
  void make(bool in_step, const std::string& name, bool sum = false, int every = 1) {
    dlhost::Table options;
    if (name != "gossip") options.entries.emplace_back("sum", Value{sum});
    options.entries.emplace_back("every", Value{std::int64_t{every}});
    sync_ = *registry_.create<Sync>(name, options);
    for (auto& memory : memories_)
      memory.resize(GroupSync::bytes({sync_.get(), {0, 2, {}}, {}}, servers_[0].slices_, 0));
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      servers_[rank].make(rank, in_step, *sync_, {memories_[0], memories_[1]}, mail_);
  }
  // Returns the first server's sync, without lockstep, after the first full exchange.
  GroupSync& make_aligned() {
    make(false, "star", true, 10);
    GroupSync& first = *servers_[0].sync_;
    EXPECT_TRUE(first.align(0, 0, 0));
    servers_[0].start();
    deliver_all();
    EXPECT_TRUE(first.is_aligned());
    return first;
  }
  void deliver_one() {
    const Sent sent = mail_.front();
    mail_.pop_front();
    const Status status = servers_[sent.to].take(sent.from, sent.message);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void deliver_all() {
    while (!mail_.empty()) deliver_one();
  }

  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Sync> sync_;
  std::array<std::vector<std::byte>, 2> memories_;
  std::deque<Sent> mail_;
  std::array<Server, 2> servers_;
};

// It waits for the other's part, and then for the confirmation that the other has read its own part.
TEST_F(GroupSyncTest, SaysOnWhomItWaits) {
  make(true, "all_to_all");
  for (Server& server : servers_) server.learn(1);
  GroupSync& first = *servers_[0].sync_;
  EXPECT_FALSE(first.first_missing(0));
  servers_[0].start();
  EXPECT_EQ(first.first_missing(0), 1U);
  servers_[1].start();
  while (first.is_on(0)) {
    EXPECT_EQ(first.first_missing(0), 1U);
    ASSERT_FALSE(mail_.empty());
    deliver_one();
  }
  deliver_all();
  EXPECT_FALSE(first.first_missing(0));
}

TEST_F(GroupSyncTest, InStepNobodyJoinsBeforeItIsDue) {
  make(true, "all_to_all");
  servers_[0].learn(1);
  EXPECT_TRUE(servers_[0].sync_->is_due(0, 1));
  servers_[0].start();
  deliver_all();
  EXPECT_TRUE(servers_[0].sync_->is_on(0));
  EXPECT_FALSE(servers_[1].sync_->is_on(0));
  servers_[1].learn(3);
  servers_[1].start();
  deliver_all();
  for (Server& server : servers_) {
    EXPECT_FALSE(server.sync_->is_on(0));
    EXPECT_THAT(server.value(), ElementsAre(3, 4, 5, 6)); // all moved by the mean of 1 and 3
  }
}

TEST_F(GroupSyncTest, UpdatesGoOnBeneath) {
  make(false, "chain", true, 10);
  servers_[0].learn(1);
  EXPECT_FALSE(servers_[0].sync_->is_due(0, 1));
  servers_[0].start();
  deliver_one(); // the receiver joins
  EXPECT_TRUE(servers_[1].sync_->is_on(0));
  servers_[0].learn(16);
  servers_[1].learn(32);
  deliver_all();
  EXPECT_THAT(servers_[0].value(), ElementsAre(18, 19, 20, 21));
  EXPECT_THAT(servers_[1].value(), ElementsAre(34, 35, 36, 37)); // 1 from the other, and its own later 32
  servers_[1].start();
  deliver_all();
  for (Server& server : servers_) EXPECT_THAT(server.value(), ElementsAre(50, 51, 52, 53));
}

TEST_F(GroupSyncTest, WhatIsAlignedWasExchangedAsItWas) {
  make(false, "ring", true, 10);
  servers_[0].learn(1);
  servers_[0].start();
  servers_[0].learn(2);
  EXPECT_FALSE(servers_[0].sync_->align(0, 2, 0)); // it is in an exchange that began earlier
  EXPECT_FALSE(servers_[0].sync_->is_aligned());
  deliver_all();
  EXPECT_FALSE(servers_[0].sync_->is_aligned());
  EXPECT_TRUE(servers_[0].sync_->is_due(0, 2));
  servers_[0].start();
  deliver_all();
  for (Server& server : servers_) {
    EXPECT_TRUE(server.sync_->is_aligned());
    EXPECT_THAT(server.value(), ElementsAre(4, 5, 6, 7));
  }
}

TEST_F(GroupSyncTest, WhoHasHadFewerExchangesIsAlignedThroughThoseOfOthers) {
  GroupSync& sync = make_aligned();
  EXPECT_EQ(sync.exchanges(0), 1U);
  EXPECT_FALSE(sync.align_through(0, 1));
  EXPECT_TRUE(sync.is_aligned());
  EXPECT_TRUE(sync.align_through(0, 2));
  EXPECT_FALSE(sync.is_aligned());
  EXPECT_TRUE(sync.is_due(0, 0));
  servers_[0].start();
  deliver_all();
  EXPECT_TRUE(sync.is_aligned());
  for (const Server& server : servers_) EXPECT_EQ(server.sync_->exchanges(0), 2U);
}

TEST_F(GroupSyncTest, WhoIsCalledToOneMoreIsAlignedBehindIt) {
  GroupSync& sync = make_aligned();
  servers_[1].learn(2);
  servers_[1].start();
  deliver_one(); // the receiver joins
  EXPECT_TRUE(sync.is_on(0));
  EXPECT_FALSE(sync.is_aligned());
  deliver_all();
  EXPECT_TRUE(sync.is_aligned());
  for (Server& server : servers_) EXPECT_THAT(server.value(), ElementsAre(3, 4, 5, 6));
}

TEST_F(GroupSyncTest, InStepThereIsNothingToAlignWhereNothingWasLearned) {
  make(true, "ring");
  EXPECT_FALSE(servers_[0].sync_->align(0, 0, 0));
  EXPECT_TRUE(servers_[0].sync_->is_aligned());
  servers_[0].learn(1);
  EXPECT_TRUE(servers_[0].sync_->align(0, 1, 0));
  EXPECT_FALSE(servers_[0].sync_->is_aligned());
}

TEST_F(GroupSyncTest, WhatCannotBeIsRefused) {
  make(false, "all_to_all");
  Server& server = servers_[0];
  using Part = to_neighbour::Part;
  const Part part{.exchange = 1, .elements = {0, 4}};
  const auto with = [&](auto change) {
    Part message = part;
    change(message);
    return message;
  };
  const auto said = [&](const ToNeighbour& message, std::uint32_t from = 1) {
    return server.take(from, message).message();
  };
  EXPECT_THAT(said(part, 7), HasSubstr("seat 7 is in exchange 1 of slice 0"));
  EXPECT_THAT(said(part, 0), HasSubstr("seat 0 is in exchange 1")); // the server itself
  EXPECT_THAT(said(with([](Part& m) { m.exchange = 2; })), HasSubstr("in exchange 2 of slice 0, and this server in 0"));
  EXPECT_THAT(said(with([](Part& m) { m.section = 9; })), HasSubstr("section 9 of slice 0, which has 1"));
  EXPECT_THAT(said(to_neighbour::Taken{.exchange = 1}), HasSubstr("in exchange 1"));
  EXPECT_THAT(said(to_neighbour::Call{.exchange = 3}), HasSubstr("in exchange 3"));
  EXPECT_THAT(said(to_neighbour::Recall{.lost = 1}), HasSubstr("asks for what server group 1 had learned of slice 0"));
  EXPECT_THAT(said(to_neighbour::Recalled{.lost = 1}), HasSubstr("tells what server group 1 had learned of slice 0"));
  const auto wrong_part = [&](auto change) {
    server.sync_->begin({});
    EXPECT_TRUE(server.take(1, with(change)).ok()); // kept until the exchange begins here
    return server.sync_->start(0, 0, server.value().data()).status().message();
  };
  EXPECT_THAT(wrong_part([](Part& m) { m.place = 1 << 20; }), HasSubstr("lies at 1048576, outside of its memory"));
  EXPECT_THAT(wrong_part([](Part& m) { m.place = ~std::uint64_t{0} - 3; }), HasSubstr("outside of its memory"));
  EXPECT_THAT(wrong_part([](Part& m) { m.place = 2; }), HasSubstr("lies at 2"));
  EXPECT_THAT(wrong_part([](Part& m) { m.elements.count = 3; }), HasSubstr("another part of slice 0"));
  EXPECT_THAT(wrong_part([](Part& m) { m.elements.first = 1; }), HasSubstr("another part of slice 0"));
  server.sync_->begin({});
  Status status;
  for (int times = 0; times < 100 && status.ok(); ++times) status = server.take(1, part);
  EXPECT_THAT(status.message(), HasSubstr("more parts of slice 0 come than any sync sends"));
}

// A sync with invalid results.
class Careless final : public Sync {
 public:
  Traits traits() const override { return {.every = every}; }
  std::vector<std::uint32_t> neighbours(std::uint32_t, std::uint32_t) const override { return named; }
  std::uint32_t every = 1;
  std::vector<std::uint32_t> named;
};

TEST_F(GroupSyncTest, ASyncThatIsNoneIsRefused) {
  Server server;
  server.lay_out("sgd", "strict", {1, 2, 3, 4}, 1, 2);
  std::vector<std::byte> memory(1024);
  const auto said = [&](const Careless& sync) {
    return GroupSync::make({.neighbours = {.all = {{0, memory}, {1, memory}}, .memory = memory, .sync = &sync},
                            .masters = &*server.masters_,
                            .store = &*server.store_},
                           std::array{&server.slices_[0]})
        .status()
        .message();
  };
  Careless sync;
  EXPECT_THAT(said(sync), HasSubstr("makes no exchange, and names no neighbours"));
  sync.named = {2};
  EXPECT_THAT(said(sync), HasSubstr("names rank 2 a neighbour of rank 0, of 2"));
  sync.named = {0};
  EXPECT_THAT(said(sync), HasSubstr("names rank 0 a neighbour of rank 0"));
  sync.every = 0;
  EXPECT_THAT(said(sync), HasSubstr("every 0 updates"));
}

TEST_F(GroupSyncTest, WhoGossipsTellsWhatTheOtherLacksOnce) {
  make(false, "gossip");
  servers_[0].learn(1);
  servers_[0].start();
  servers_[0].learn(2); // while the first part is on its way
  servers_[0].start();
  servers_[1].learn(16);
  deliver_all();
  EXPECT_THAT(servers_[1].value(), ElementsAre(20, 21, 22, 23));
  EXPECT_THAT(servers_[0].value(), ElementsAre(4, 5, 6, 7)) << "the other has told nothing yet";
  for (Server& server : servers_) {
    EXPECT_TRUE(server.sync_->align(0, 0, 0));
    EXPECT_FALSE(server.sync_->is_aligned());
    server.start();
  }
  deliver_all();
  for (Server& server : servers_) {
    EXPECT_TRUE(server.sync_->is_aligned());
    EXPECT_THAT(server.value(), ElementsAre(20, 21, 22, 23));
  }
}

// The rows before and after a part alternate: if the server dies in between, the row that it announced is intact.
TEST_F(GroupSyncTest, WhatCameByGossipOutlivesWhoHeardIt) {
  make(false, "gossip");
  Server& server = servers_[0];
  float all = 0;
  for (const float much : {1.0F, 2.0F, 4.0F}) {
    const std::size_t before = server.sync_->heard(0);
    servers_[1].learn(much);
    servers_[1].start();
    server.learn(100);
    deliver_all();
    EXPECT_NE(server.sync_->heard(0), before);
    EXPECT_THAT(server.heard(*sync_, before), Each(all));
    all += much;
    EXPECT_THAT(server.heard(*sync_, server.sync_->heard(0)), Each(all));
  }
  const auto begun = server.masters_->shared(0, GroupSync::begun_row(*sync_));
  EXPECT_THAT((std::span{reinterpret_cast<const float*>(begun.data()), 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(server.value(), ElementsAre(308, 309, 310, 311));
}

TEST_F(GroupSyncTest, WhatGossipCannotBeIsRefused) {
  make(false, "gossip");
  Server& server = servers_[0];
  using Part = to_neighbour::Part;
  const Part part{.exchange = 1, .elements = {0, 4}};
  const auto said = [&](const ToNeighbour& message, std::uint32_t from = 1) {
    return server.take(from, message).message();
  };
  const auto with = [&](auto change) {
    Part message = part;
    change(message);
    return message;
  };
  EXPECT_THAT(said(part, 2), HasSubstr("seat 2 is in exchange 1"));
  EXPECT_THAT(said(with([](Part& m) { m.exchange = 2; })), HasSubstr("in exchange 2 of slice 0, and this server in 0"));
  EXPECT_THAT(said(with([](Part& m) { m.elements.count = 3; })), HasSubstr("in exchange 1"));
  EXPECT_THAT(said(to_neighbour::Taken{.exchange = 1}), HasSubstr("in exchange 1"));
  EXPECT_THAT(said(to_neighbour::Call{.exchange = 1}), HasSubstr("in exchange 1"));
  EXPECT_THAT(said(to_neighbour::Recall{.lost = 1}), HasSubstr("asks for what server group 1 had learned of slice 0"));
  EXPECT_THAT(said(to_neighbour::Recalled{.lost = 1}), HasSubstr("tells what server group 1 had learned of slice 0"));
  EXPECT_THAT(said(with([](Part& m) { m.place = 1 << 20; })), HasSubstr("outside of its memory"));
  EXPECT_EQ(said(with([](Part& m) { m.round = 1; })), "");                              // its last part
  EXPECT_THAT(said(part), HasSubstr("in exchange 1 of slice 0, and this server in 1")); // it comes twice
}

} // namespace
} // namespace dlhost::param
