// Who makes a version, where whole steps are chosen: what the chooser tells servers of the steps of three groups.
#include "param/server/chooser.h"

#include <gmock/gmock.h>

#include "env/real_host.h"
#include "plugin/registry.h"

namespace dlhost::param {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ChooserTest : public testing::Test {
 protected:
  // That a worker has sent all of a step, which it computed with that version.
  Status whole(std::uint16_t group, std::uint16_t rank, std::uint64_t step, Version based_on) {
    return chooser_.take({.word = Word::whole, .group = group, .rank = rank, .step = step, .version = based_on});
  }
  void group_sends(std::uint16_t group, std::uint64_t step, Version based_on) {
    for (std::uint16_t rank : {0, 1}) EXPECT_TRUE(whole(group, rank, step, based_on).ok());
  }
  // What was told since: "chosen group.rank for version", or "dropped group.rank".
  std::vector<std::string> told() { return std::exchange(told_, {}); }

  explicit ChooserTest(const std::string& late = "drop", double late_share = 0)
      : consistency_(*registry_.create<Consistency>("first_t", first_two(late, late_share))) {}

  static dlhost::Table first_two(const std::string& late, double late_share) {
    dlhost::Table options;
    options.entries.emplace_back("t", Value{std::int64_t{2}});
    options.entries.emplace_back("late", Value{late});
    options.entries.emplace_back("late_share", Value{late_share});
    return options;
  }
  static std::string line_of(const Message& message) {
    const std::string who = concat(message.group, ".", message.rank);
    if (message.word == Word::chosen) return concat("chosen ", who, " for ", message.version);
    if (message.word == Word::folded) return concat("folded ", who, " times ", message.rate);
    if (message.word == Word::align) return "align";
    return concat("dropped ", who);
  }

  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Consistency> consistency_;
  plugin::Activity activity_;
  std::vector<std::string> told_;
  Chooser chooser_{{.clients = {.groups = 3, .workers = 2},
                    .consistency = consistency_.get(),
                    .activity = &activity_,
                    .tell =
                        [this](const Message& message) {
                          told_.push_back(line_of(message));
                          return Status();
                        },
                    .answer =
                        [this](const Message& message) {
                          told_.push_back(concat(message.group, " from ", message.step));
                          return Status();
                        }}};
};

TEST_F(ChooserTest, TheFirstTwoGroupsMakeAVersionAndTheThirdIsLate) {
  EXPECT_TRUE(whole(2, 0, 0, 0).ok());
  group_sends(0, 0, 0);
  EXPECT_THAT(told(), ElementsAre()); // of group 2 one worker is still at it
  EXPECT_TRUE(whole(2, 1, 0, 0).ok());
  EXPECT_THAT(told(), ElementsAre("chosen 0.0 for 0", "chosen 0.1 for 0", "chosen 2.0 for 0", "chosen 2.1 for 0"));
  group_sends(1, 0, 0);
  EXPECT_THAT(told(), ElementsAre("dropped 1.0", "dropped 1.1"));
  EXPECT_EQ(chooser_.arrivals().came, 3U);
  EXPECT_EQ(chooser_.arrivals().late, 1U);
}

TEST_F(ChooserTest, AGroupIsAsOldAsItsOldestWorker) {
  group_sends(0, 0, 0);
  group_sends(1, 0, 0);
  told();
  EXPECT_TRUE(whole(2, 0, 0, 1).ok());
  EXPECT_TRUE(whole(2, 1, 0, 0).ok());
  EXPECT_THAT(told(), ElementsAre("dropped 2.0", "dropped 2.1"));
}

TEST_F(ChooserTest, WhatComesTwiceCountsOnce) {
  group_sends(0, 0, 0);
  group_sends(0, 0, 0);
  EXPECT_THAT(told(), ElementsAre());
  EXPECT_EQ(chooser_.arrivals().came, 1U);
}

TEST_F(ChooserTest, WhoLeavesIsNotWaitedFor) {
  group_sends(0, 0, 0);
  for (std::uint16_t group : {1, 2})
    for (std::uint16_t rank : {0, 1})
      EXPECT_TRUE(chooser_.take({.word = Word::leave, .group = group, .rank = rank}).ok());
  EXPECT_THAT(told(), ElementsAre("chosen 0.0 for 0", "chosen 0.1 for 0"));
}

TEST_F(ChooserTest, WhoLeavesBehindAContributionIsCounted) {
  for (std::uint16_t rank : {0, 1}) EXPECT_TRUE(chooser_.take({.word = Word::leave, .group = 1, .rank = rank}).ok());
  group_sends(0, 0, 0);
  for (std::uint16_t rank : {0, 1}) EXPECT_TRUE(chooser_.take({.word = Word::leave, .rank = rank}).ok());
  EXPECT_THAT(told(), ElementsAre()); // group 2 makes the version with it
  group_sends(2, 0, 0);
  EXPECT_THAT(told(), ElementsAre("chosen 0.0 for 0", "chosen 0.1 for 0", "chosen 2.0 for 0", "chosen 2.1 for 0"));
  EXPECT_EQ(chooser_.arrivals().late, 0U);
}

TEST_F(ChooserTest, WhoIsNotThereIsRefused) {
  EXPECT_THAT(whole(3, 0, 0, 0).message(), HasSubstr("worker 0 of group 3, which is none of those"));
  EXPECT_THAT(whole(0, 2, 0, 0).message(), HasSubstr("worker 2 of group 0, which is none of those"));
}

// Of two workers each, groups begin with seats 0, 2 and 4.
TEST_F(ChooserTest, OnlyLeadersSayThatAGroupLeavesOrThatAllStandStill) {
  EXPECT_THAT(chooser_.take({.word = Word::leave, .seat = 4, .group = 1}).message(),
              HasSubstr("seat 4 says that group 1 makes no more steps"));
  EXPECT_THAT(chooser_.take({.word = Word::complete, .seat = 2}).message(), HasSubstr("the run's leader alone"));
  EXPECT_THAT(told(), ElementsAre());
  EXPECT_TRUE(chooser_.take({.word = Word::leave, .seat = 2, .group = 1}).ok());
  EXPECT_TRUE(chooser_.take({.word = Word::leave, .seat = 0, .group = 1, .rank = 1}).ok());
}

TEST_F(ChooserTest, WhereNothingIsFoldedItSaysFromWhereOnNothingIsDecided) {
  group_sends(0, 0, 0);
  group_sends(1, 0, 0);
  group_sends(2, 0, 0); // late
  group_sends(1, 1, 1); // and waits for another
  EXPECT_TRUE(whole(2, 0, 1, 1).ok());
  told();
  EXPECT_TRUE(chooser_.take({.word = Word::complete}).ok());
  EXPECT_THAT(told(), ElementsAre("0 from 1", "1 from 1", "2 from 1"));
  group_sends(0, 1, 1); // it still counts
  EXPECT_THAT(told(), ElementsAre("chosen 1.0 for 1", "chosen 1.1 for 1", "chosen 0.0 for 1", "chosen 0.1 for 1"));
}

class FoldingChooserTest : public ChooserTest {
 protected:
  FoldingChooserTest() : ChooserTest("dampen") {}
};

TEST_F(FoldingChooserTest, WhoIsLateIsFoldedInTheLessTheLater) {
  group_sends(0, 0, 0);
  group_sends(1, 0, 0);
  told();
  group_sends(2, 0, 0);
  EXPECT_THAT(told(), ElementsAre("folded 2.0 times 0.5", "folded 2.1 times 0.5"));
  EXPECT_EQ(chooser_.arrivals().late, 1U);
}

TEST_F(FoldingChooserTest, WhereAllStandStillNothingStaysUndecided) {
  group_sends(1, 0, 0);
  EXPECT_TRUE(chooser_.take({.word = Word::complete}).ok());
  EXPECT_THAT(told(), ElementsAre("folded 1.0 times 1", "folded 1.1 times 1", "align"));
  group_sends(0, 0, 0);
  EXPECT_THAT(told(), ElementsAre()) << "what was folded makes no version";
  group_sends(1, 1, 0);
  EXPECT_THAT(told(), ElementsAre("chosen 0.0 for 0", "chosen 0.1 for 0", "chosen 1.0 for 0", "chosen 1.1 for 0"));
  EXPECT_EQ(chooser_.arrivals().late, 0U);
}

class AdaptiveChooserTest : public ChooserTest {
 protected:
  AdaptiveChooserTest() : ChooserTest("drop", 0.1) {}
};

// Two groups make each version, and the third is late each time: a third of all.
TEST_F(AdaptiveChooserTest, TGrowsWhereTooManyAreLate) {
  for (std::uint64_t step = 0; step < 8; ++step)
    for (std::uint16_t group : {0, 1, 2}) group_sends(group, step, step);
  EXPECT_EQ(chooser_.arrivals().late, 8U);
  told();
  group_sends(0, 8, 8);
  group_sends(1, 8, 8);
  EXPECT_THAT(told(), ElementsAre()) << "all three are waited for";
  group_sends(2, 8, 8);
  EXPECT_EQ(told().size(), 6U);
  EXPECT_EQ(chooser_.arrivals().late, 8U);
}

} // namespace
} // namespace dlhost::param
