#include "roll.h"

#include <gmock/gmock.h>

namespace dlhost::plugins::rendezvous {
namespace {

using testing::HasSubstr;

Member of_rank(std::uint32_t rank) { return {.rank = rank, .address = concat("at ", rank), .host = "host"}; }

class RollTest : public testing::Test {
 protected:
  RollTest() {
    for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(*roll_.join(of_rank(rank), 3), rank);
  }
  Roll roll_{3};
};

TEST_F(RollTest, ComingAndGoingBeginEpochs) {
  EXPECT_TRUE(roll_.complete());
  EXPECT_EQ(roll_.epoch(), 3U);
  roll_.go(1, "it died");
  EXPECT_TRUE(roll_.complete()) << "stays so";
  const Membership now = roll_.membership(3);
  EXPECT_EQ(now.epoch, 4U);
  ASSERT_EQ(now.members.size(), 2U);
  EXPECT_EQ(now.members[1].since, 3U);
  ASSERT_EQ(now.departures.size(), 1U);
  EXPECT_EQ(now.departures[0].who.address, "at 1");
  EXPECT_EQ(now.departures[0].why, "it died");
  EXPECT_TRUE(roll_.membership(4).departures.empty());
  EXPECT_EQ(*roll_.join(of_rank(any_rank), 0), 1U) << "the lowest that is free";
  EXPECT_EQ(*roll_.join(of_rank(any_rank), 0), 3U);
}

TEST_F(RollTest, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(roll_.join(of_rank(1), 0).status().message(), HasSubstr("rank 1 is in already, from host 'host'"));
  EXPECT_THAT(roll_.join(of_rank(9), 4).status().message(), HasSubstr("waits for 4 members"));
  EXPECT_EQ(roll_.join(of_rank(1U << 30), 0).status().code(), Code::invalid);
  EXPECT_EQ(roll_.epoch(), 3U);
}

TEST(RollOfLauncherTest, WhoComesFirstSaysHowManyAreExpected) {
  Roll roll(0);
  EXPECT_EQ(*roll.join(of_rank(0), 2), 0U);
  EXPECT_FALSE(roll.complete());
  EXPECT_EQ(roll.join(of_rank(1), 3).status().code(), Code::invalid);
  EXPECT_EQ(*roll.join(of_rank(1), 0), 1U);
  EXPECT_TRUE(roll.complete());
}

TEST_F(RollTest, AKeyIsWrittenOnceAnEpochAndGoneWithIt) {
  EXPECT_TRUE(roll_.put(3, "key", "value").ok());
  EXPECT_EQ(roll_.put(3, "key", "other").code(), Code::exists);
  EXPECT_EQ(**roll_.get(3, "key"), "value");
  EXPECT_FALSE(roll_.get(3, "nothing")->has_value());
  roll_.go(2, "");
  EXPECT_EQ(roll_.put(3, "late", "x").code(), Code::cancelled);
  EXPECT_EQ(roll_.get(3, "key").status().code(), Code::cancelled);
  EXPECT_FALSE(roll_.get(4, "key")->has_value());
}

TEST_F(RollTest, TheStoreIsBounded) {
  const std::string large(Session::largest_value, 'x');
  Status status;
  int count = 0;
  for (; status.ok() && count < 100'000; ++count) status = roll_.put(3, concat(count), large);
  EXPECT_EQ(status.code(), Code::no_space);
  EXPECT_GT(count, 1'000);
}

TEST_F(RollTest, OneLeadsUntilItsEnd) {
  EXPECT_TRUE(roll_.lead(1, "it"));
  EXPECT_TRUE(roll_.lead(1, "it"));
  EXPECT_FALSE(roll_.lead(2, "it"));
  roll_.go(1, "");
  EXPECT_FALSE(roll_.lead(1, "it")) << "it is out";
  EXPECT_TRUE(roll_.lead(2, "it"));
}

TEST_F(RollTest, AReportIsOfTheMemberThatTheReporterKnew) {
  EXPECT_TRUE(roll_.report(0, 1, 3, "silent"));
  EXPECT_THAT(roll_.membership(3).departures.at(0).why, HasSubstr("rank 0 reported it: silent"));
  EXPECT_EQ(*roll_.join(of_rank(1), 0), 1U);
  EXPECT_FALSE(roll_.report(2, 1, 3, "silent")) << "this one has come since";
  EXPECT_TRUE(roll_.has(1));
  EXPECT_FALSE(roll_.report(2, 77, 5, "never was"));
}

} // namespace
} // namespace dlhost::plugins::rendezvous
