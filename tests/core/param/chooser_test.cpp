// The chooser, for versions made of whole steps: its messages to servers about the steps of three groups.
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
  // Reports that a worker has sent a whole step, computed with that version.
  Status whole(std::uint16_t group, std::uint16_t rank, std::uint64_t step, Version based_on) {
    return chooser_.take(0, to_chooser::Whole{.worker = {group, rank}, .step = step, .based_on = based_on});
  }
  Status leave(std::uint16_t group, std::uint16_t rank, std::uint32_t from = leading_seat) {
    return chooser_.take(from, to_chooser::Leave{.worker = {group, rank}});
  }
  Status complete(std::uint32_t from = leading_seat) { return chooser_.take(from, to_chooser::Complete()); }
  static std::string name(WorkerId worker) { return concat(worker.group, ".", worker.rank); }
  void group_sends(std::uint16_t group, std::uint64_t step, Version based_on) {
    for (std::uint16_t rank : {0, 1}) EXPECT_TRUE(whole(group, rank, step, based_on).ok());
  }
  // The messages since the last call: "chosen group.rank for version", or "dropped group.rank".
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
  static std::string line_of(const ToServer& message) {
    return dispatch(
        message,
        [](const to_server::Chosen& chosen) { return concat("chosen ", name(chosen.worker), " for ", chosen.version); },
        [](const to_server::Folded& folded) {
          return concat("folded ", name(folded.worker), " times ", folded.weight);
        },
        [](const to_server::Dropped& dropped) { return concat("dropped ", name(dropped.worker)); },
        [](const to_server::Align&) { return std::string("align"); },
        [](const auto&) { return std::string("something else"); });
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
                        [this](const ToServer& message) {
                          told_.push_back(line_of(message));
                          return Status();
                        },
                    .answer =
                        [this](const to_worker::Undecided& undecided) {
                          told_.push_back(concat(undecided.group, " from ", undecided.first));
                          return Status();
                        }}};
};

TEST_F(ChooserTest, TheFirstTwoGroupsMakeAVersionAndTheThirdIsLate) {
  EXPECT_TRUE(whole(2, 0, 0, 0).ok());
  group_sends(0, 0, 0);
  EXPECT_THAT(told(), ElementsAre()); // one worker of group 2 is still missing
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
    for (std::uint16_t rank : {0, 1}) EXPECT_TRUE(leave(group, rank).ok());
  EXPECT_THAT(told(), ElementsAre("chosen 0.0 for 0", "chosen 0.1 for 0"));
}

TEST_F(ChooserTest, WhoLeavesBehindAContributionIsCounted) {
  for (std::uint16_t rank : {0, 1}) EXPECT_TRUE(leave(1, rank).ok());
  group_sends(0, 0, 0);
  for (std::uint16_t rank : {0, 1}) EXPECT_TRUE(leave(0, rank).ok());
  EXPECT_THAT(told(), ElementsAre()); // group 2 makes the version with it
  group_sends(2, 0, 0);
  EXPECT_THAT(told(), ElementsAre("chosen 0.0 for 0", "chosen 0.1 for 0", "chosen 2.0 for 0", "chosen 2.1 for 0"));
  EXPECT_EQ(chooser_.arrivals().late, 0U);
}

TEST_F(ChooserTest, WhoIsNotThereIsRefused) {
  EXPECT_THAT(whole(3, 0, 0, 0).message(), HasSubstr("worker 0 of group 3, which is none of those"));
  EXPECT_THAT(whole(0, 2, 0, 0).message(), HasSubstr("worker 2 of group 0, which is none of those"));
}

// Groups have two workers each and begin at seats 0, 2 and 4.
TEST_F(ChooserTest, OnlyLeadersSayThatAGroupLeavesOrThatAllStandStill) {
  EXPECT_THAT(leave(1, 0, 4).message(), HasSubstr("seat 4 reports the last step of group 1"));
  EXPECT_THAT(complete(2).message(), HasSubstr("only the run's leader"));
  EXPECT_THAT(told(), ElementsAre());
  EXPECT_TRUE(leave(1, 0, 2).ok());
  EXPECT_TRUE(leave(1, 1).ok());
}

TEST_F(ChooserTest, WhereNothingIsFoldedItSaysFromWhereOnNothingIsDecided) {
  group_sends(0, 0, 0);
  group_sends(1, 0, 0);
  group_sends(2, 0, 0); // late
  group_sends(1, 1, 1); // and waits for another group
  EXPECT_TRUE(whole(2, 0, 1, 1).ok());
  told();
  EXPECT_TRUE(complete().ok());
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
  EXPECT_TRUE(complete().ok());
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

// Two groups make each version, and the third is always late: a third of all.
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
