// A server's part of a param that only some workers of a group hold.
#include <array>

#include "param/store/transfer.h"
#include "served.h"

namespace dlhost::param {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Of two groups of two, the second worker of each holds the param.
class HeldParamTest : public Served {
 protected:
  void serve(const std::string& consistency, std::size_t versions) {
    lay_out("sgd", consistency, {1, 2, 3, 4}, versions);
    store_->params()[0]->declared.parts = {{.first = 0, .count = 4, .holders = {{.rank = 1, .rows = {0, 8}}}}};
    ShardSetup setup = this->setup(slices_);
    setup.groups = 2;
    for (std::uint16_t group = 0; group < 2; ++group)
      for (std::uint16_t rank = 0; rank < 2; ++rank)
        setup.contributors.push_back({group, rank, group * 2U + rank, std::as_bytes(std::span(gradient_))});
    setup.published = outlives_;
    setup.send = [this](std::uint32_t seat, const Body& message) {
      if (const auto told = told_in(message)) answers_.emplace_back(seat, told->version);
      return Status();
    };
    auto shard = Shard::make(std::move(setup));
    ASSERT_TRUE(shard.ok()) << shard.status().message();
    shard_ = *std::move(shard);
    shard_->begin({.steps = {5, 5, 5, 5}});
  }
  static to_server::Update update(std::uint16_t group, std::uint16_t rank, std::uint64_t step) {
    return {.worker = {group, rank}, .step = step, .rate = 0.5};
  }
  float first() {
    const Param& param = *store_->params()[0];
    return download(*device_, *stream_, param.master, masters_->value(0, 0).data())->front();
  }
  // The steps that the newest published version contains.
  std::vector<std::uint64_t> applied() {
    const auto steps = SurvivingVersions(outlives_, 4).newest(0).applied;
    return {steps.begin(), steps.end()};
  }

  std::array<float, 4> gradient_{1, 1, 1, 1};
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{4}, 1, 100);
  std::vector<std::byte> outlives_ = std::vector<std::byte>(SurvivingVersions::bytes(1, 4));
  std::vector<std::pair<std::uint32_t, Version>> answers_;
};

TEST_F(HeldParamTest, ItsHoldersMakeEachVersion) {
  serve("strict", 1);
  ASSERT_TRUE(take(update(0, 1, 5)).ok());
  EXPECT_EQ(first(), 1) << "the other group's holder has not contributed";
  EXPECT_EQ(shard_->lack(0).seat, 3U);
  ASSERT_TRUE(take(update(1, 1, 5)).ok());
  EXPECT_EQ(first(), 0) << "minus half of two gradients";
  EXPECT_EQ(shard_->version(), 1U);
}

// As far as it is known what the others of a group have made, they have made it with its holders.
TEST_F(HeldParamTest, WhatOthersHaveMadeIsWhatTheirHoldersHave) {
  serve("eventual", 4);
  EXPECT_THAT(applied(), ElementsAre(5, 5, 5, 5));
  ASSERT_TRUE(take(update(1, 1, 5)).ok());
  EXPECT_THAT(applied(), ElementsAre(5, 5, 6, 6));
}

TEST_F(HeldParamTest, OthersNeitherContributeNorAsk) {
  serve("strict", 1);
  EXPECT_THAT(take(update(0, 0, 5)).message(), HasSubstr("worker 0 of group 0 does not hold the param of slice 0"));
  EXPECT_EQ(take(to_server::Get{.worker = {1, 0}}).code(), Code::corrupt);
}

// The run's leader saves all params, also those that it does not hold. While it looks, a place is not kept for it.
TEST_F(HeldParamTest, OthersMayLook) {
  serve("eventual", 3);
  ASSERT_TRUE(take(to_server::Look{.worker = {0, 0}}).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(0, 0)));
  for (std::uint64_t step = 5; step < 15; ++step)
    for (const std::uint16_t group : {0, 1}) {
      ASSERT_TRUE(take(update(group, 1, step)).ok());
      ASSERT_TRUE(take(to_server::Get{.worker = {group, 1}, .step = step}).ok());
    }
  EXPECT_EQ(shard_->version(), 20U);
}

// The last holder that makes steps makes versions alone, whatever workers without the param do.
TEST_F(HeldParamTest, HoldersThatLeaveAreNotWaitedFor) {
  serve("strict", 1);
  ASSERT_TRUE(take(update(0, 1, 5)).ok());
  ASSERT_TRUE(take(to_server::Leave{.worker = {1, 0}}).ok());
  EXPECT_EQ(shard_->version(), 0U);
  ASSERT_TRUE(take(to_server::Leave{.worker = {1, 1}}).ok());
  EXPECT_EQ(shard_->version(), 1U);
}

} // namespace
} // namespace dlhost::param
