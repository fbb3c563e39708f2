#include <cmath>

#include <dlhost/parts.h>

#include "../../plugin_host.h"

namespace dlhost::test {
namespace {

class ScheduleTest : public testing::Test {
 protected:
  // The rate at a step of a run of 100 steps, ten an epoch.
  double rate(const std::string& type, std::vector<TableEntry> options, std::uint64_t step) {
    options.emplace_back("base", value(0.1));
    return make<Schedule>(host_, type, std::move(options))
        ->rate({.step = step, .epoch = static_cast<double>(step) / 10, .total_steps = 100});
  }

  PluginHost host_;
};

TEST_F(ScheduleTest, FixedStays) {
  EXPECT_DOUBLE_EQ(rate("fixed", {}, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate("fixed", {}, 99), 0.1);
}

TEST_F(ScheduleTest, StepFallsAtRegularTimes) {
  const std::vector<TableEntry> options{{"every", value(30)}, {"gamma", value(0.5)}};
  EXPECT_DOUBLE_EQ(rate("step", options, 29), 0.1);
  EXPECT_DOUBLE_EQ(rate("step", options, 30), 0.05);
  EXPECT_DOUBLE_EQ(rate("step", options, 60), 0.025);
}

TEST_F(ScheduleTest, TimesMayBeEpochs) {
  const std::vector<TableEntry> options{{"every", value(3)}, {"gamma", value(0.5)}, {"unit", value("epochs")}};
  EXPECT_DOUBLE_EQ(rate("step", options, 29), 0.1);
  EXPECT_DOUBLE_EQ(rate("step", options, 30), 0.05);
}

TEST_F(ScheduleTest, MultistepFallsAtTheGivenTimes) {
  const std::vector<TableEntry> options{{"at", value({10, 15})}};
  EXPECT_DOUBLE_EQ(rate("multistep", options, 9), 0.1);
  EXPECT_DOUBLE_EQ(rate("multistep", options, 10), 0.1 * 0.1);
  EXPECT_NEAR(rate("multistep", options, 99), 0.001, 1e-15);
}

TEST_F(ScheduleTest, ExponentialAndInverse) {
  EXPECT_NEAR(rate("exponential", {{"gamma", value(0.9)}}, 20), 0.1 * 0.81, 1e-15);
  EXPECT_NEAR(rate("inverse", {{"gamma", value(0.01)}, {"power", value(0.75)}}, 50), 0.1 * std::pow(1.5, -0.75), 1e-15);
}

TEST_F(ScheduleTest, SigmoidIsHalfOfItAtItsMiddle) {
  const auto at = [&](double gamma, std::uint64_t step) {
    return rate("sigmoid", {{"gamma", value(gamma)}, {"at", value(40)}}, step);
  };
  EXPECT_NEAR(at(-0.1, 40), 0.05, 1e-15);
  EXPECT_NEAR(at(-0.1, 0), 0.1 / (1 + std::exp(-4.0)), 1e-15);
  EXPECT_NEAR(at(-0.1, 70), 0.1 / (1 + std::exp(3.0)), 1e-15);
  EXPECT_NEAR(at(0.2, 55), 0.1 / (1 + std::exp(-3.0)), 1e-15);
}

TEST_F(ScheduleTest, ThoseWithAnEndReachIt) {
  for (const std::string type : {"linear", "polynomial", "cosine"}) {
    EXPECT_DOUBLE_EQ(rate(type, {{"end", value(0.02)}}, 0), 0.1) << type;
    EXPECT_NEAR(rate(type, {{"end", value(0.02)}}, 50), 0.06, 1e-12) << type;
    EXPECT_NEAR(rate(type, {{"end", value(0.02)}}, 100), 0.02, 1e-12) << type;
    EXPECT_NEAR(rate(type, {{"end", value(0.02)}, {"steps", value(50)}}, 70), 0.02, 1e-12) << type;
  }
  EXPECT_NEAR(rate("polynomial", {{"power", value(2)}}, 50), 0.1 * 0.25, 1e-12);
  EXPECT_NEAR(rate("cosine", {}, 25), 0.05 * (1 + std::cos(std::acos(-1.0) / 4)), 1e-12);
}

TEST_F(ScheduleTest, AnyOfThemWarmsUp) {
  const std::vector<TableEntry> options{{"warmup", value(10)}, {"warmup_from", value(0.05)}};
  EXPECT_NEAR(rate("fixed", options, 0), 0.055, 1e-12);
  EXPECT_NEAR(rate("fixed", options, 4), 0.075, 1e-12);
  EXPECT_NEAR(rate("fixed", options, 9), 0.1, 1e-12);
  // Schedules with an end fall from the end of the warm-up on.
  EXPECT_NEAR(rate("linear", {{"warmup", value(20)}}, 20), 0.1, 1e-12);
  EXPECT_NEAR(rate("linear", {{"warmup", value(20)}}, 60), 0.05, 1e-12);
  EXPECT_NEAR(rate("cosine", {{"warmup", value(20)}}, 9), 0.05, 1e-12);
  // Other schedules count time from the start.
  EXPECT_NEAR(rate("multistep", {{"warmup", value(20)}, {"at", value({30})}}, 30), 0.01, 1e-12);
}

} // namespace
} // namespace dlhost::test
