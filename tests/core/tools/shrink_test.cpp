// What counts as a smaller run, without running any.
#include "run/shrink.h"

#include <gmock/gmock.h>

namespace dlhost::run {
namespace {

// One message in so many: to lose more of them is no smaller a run.
TEST(ShrinkTest, OfMessagesFewerAreLostAndNeverMore) {
  constexpr std::int64_t first = 3000, rarest = 50'000; // what is lost more seldom is not seen to fail
  for (std::int64_t SimulationSpec::*const fault :
       {&SimulationSpec::lost, &SimulationSpec::doubled, &SimulationSpec::reordered}) {
    Failing failing;
    failing.spec.*fault = first;
    const Failing small = shrink(failing, [&](const Failing& run) {
      EXPECT_TRUE(run.spec.*fault == 0 || run.spec.*fault >= first) << run.spec.*fault;
      return run.spec.*fault > 0 && run.spec.*fault <= rarest;
    });
    EXPECT_EQ(small.spec.*fault, 16 * first);
  }
}

TEST(ShrinkTest, WhatFailsWithoutFaultsHasNone) {
  const Failing small =
      shrink({.job = {}, .spec = {.kills = 3, .lost = 2000, .disk_fault = env::simulated::DiskFault::forgets}},
             [](const Failing&) { return true; });
  EXPECT_EQ(small.spec.kills, 0);
  EXPECT_EQ(small.spec.lost, 0);
  EXPECT_EQ(small.spec.disk_fault, env::simulated::DiskFault::none);
}

Simulated with_faults(std::vector<std::string> faults) {
  Simulated simulated;
  simulated.audit.faults = std::move(faults);
  return simulated;
}

TEST(ShrinkTest, FaultsOfLedgersAreCompared) {
  const auto twice = with_faults({"step 3 of worker 1 counts twice in slice 0 (w), again in version 9"});
  EXPECT_TRUE(fail_alike(twice, with_faults({"versions 4 to 5 of slice 0 (w) are not written down",
                                             "step 1 of worker 0 counts twice in slice 2 (w), again in version 4"})));
  EXPECT_FALSE(fail_alike(twice, with_faults({"versions 4 to 5 of slice 0 (w) are not written down"})));
  EXPECT_FALSE(fail_alike(twice, with_faults({}))) << "this one does not fail";
  Simulated gone, timed_out;
  gone.status = Status::gone("away");
  timed_out.status = Status::timeout("too long");
  EXPECT_FALSE(fail_alike(twice, gone));
  EXPECT_FALSE(fail_alike(gone, twice));
  EXPECT_FALSE(fail_alike(gone, timed_out));
  EXPECT_TRUE(fail_alike(gone, gone));
}

TEST(ShrinkTest, ARunWhoseLedgersHaveFaultsHasFailed) {
  EXPECT_TRUE(verdict(with_faults({})).ok());
  EXPECT_THAT(verdict(with_faults({"slice 0 is odd"})).message(), testing::HasSubstr("slice 0 is odd"));
}

} // namespace
} // namespace dlhost::run
