#include "tools/chart/panels.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlhost::tools {
namespace {

using testing::ElementsAre;

record::Curves run_of(std::string name, std::size_t count, double (*value)(std::size_t)) {
  record::Curve loss{"loss", "train", {}}, validation{"loss", "validation", {}}, rate{"rate", "train", {}};
  for (std::size_t i = 1; i <= count; ++i) {
    const double at = static_cast<double>(i);
    loss.points.push_back({at, at / 10, at * 2, value(i)});
    rate.points.push_back({at, at / 10, at * 2, 0.1});
  }
  validation.points.push_back({static_cast<double>(count), 1, 1, value(count)});
  return {std::move(name), {loss, validation, rate}};
}

double smooth_value(std::size_t i) { return 1 / static_cast<double>(i); }
double noisy_value(std::size_t i) { return i % 2 ? 2 : 4; }

std::vector<std::string> labels_of(const Axis& axis) {
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks())
    if (!tick.label.empty()) labels.push_back(tick.label);
  return labels;
}

TEST(Panels, ARangeIsCutOut) {
  const record::Curves runs[] = {run_of("a", 10, smooth_value)};
  const auto panels = panels_of(runs, {.x_range = {3, 5}, .y_range = {0, 2}});
  ASSERT_TRUE(panels.ok()) << panels.status().message();
  ASSERT_EQ(panels->front().lines.size(), 1u); // the validation is at step 10
  std::vector<double> steps;
  for (const Sample& sample : panels->front().lines[0].raw) steps.push_back(sample.x);
  EXPECT_THAT(steps, ElementsAre(3, 4, 5));
  EXPECT_EQ(panels->front().y_axis(5).low(), 0);
  EXPECT_EQ(panels->front().y_axis(5).high(), 2);
  EXPECT_EQ(panels_of(runs, {.x_range = {20, 30}}).status().message(),
            "there is nothing to draw between the ends of --x-range");
}

TEST(Panels, RangesAreRead) {
  EXPECT_EQ(range_named("1..2.5")->high, 2.5);
  EXPECT_EQ(range_named("..-1")->high, -1);
  EXPECT_FALSE(std::isfinite(range_named("3..")->high));
  for (const char* wrong : {"", "..", "1", "2..1", "1..1", "a..2", "1..2x", "nan..2"})
    EXPECT_FALSE(range_named(wrong)) << wrong;
}

TEST(Panels, OneAMetricWithALineForEachRunAndPhase) {
  const record::Curves runs[] = {run_of("a", 10, smooth_value), run_of("b", 10, smooth_value)};
  const auto panels = panels_of(runs, {.x = XAxis::epoch});
  ASSERT_TRUE(panels.ok()) << panels.status().message();
  ASSERT_EQ(panels->size(), 1u); // no rate by default
  const Panel& panel = panels->front();
  ASSERT_EQ(panel.lines.size(), 4u);
  EXPECT_EQ(panel.lines[2].run, 1u);
  EXPECT_EQ(panel.lines[2].phase, "train");
  EXPECT_EQ(panel.lines[2].raw[4].x, 0.5);
  EXPECT_TRUE(panel.lines[0].smooth.empty());
}

TEST(Panels, AnUnknownMetricNamesTheKnownOnes) {
  const record::Curves runs[] = {run_of("a", 10, smooth_value)};
  const auto panels = panels_of(runs, {.metrics = {"los"}});
  ASSERT_FALSE(panels.ok());
  EXPECT_NE(panels.status().message().find("did you mean 'loss'"), std::string::npos) << panels.status().message();
  ASSERT_EQ(panels_of(runs, {.metrics = {"rate"}})->front().metric, "rate");
}

TEST(Panels, NoiseIsSmoothedAndLevelsAreKept) {
  const record::Curves runs[] = {run_of("a", 1000, noisy_value)};
  const auto panels = panels_of(runs, {.smooth = 0.1});
  ASSERT_TRUE(panels.ok());
  const Line& line = panels->front().lines[0];
  ASSERT_EQ(line.smooth.size(), 1000u);
  for (const Sample& sample : line.smooth) EXPECT_NEAR(sample.y, 3, 0.1);
  EXPECT_TRUE(panels_of(runs, {.smooth = 0})->front().lines[0].smooth.empty());
}

TEST(Panels, SmoothingKeepsStraightLinesAndGaps) {
  std::vector<Sample> samples;
  for (int i = 0; i < 100; ++i) samples.push_back({static_cast<double>(i), i == 60 ? NAN : 3.0 * i - 7});
  const auto smooth = smoothed(samples, 8);
  ASSERT_EQ(smooth.size(), samples.size());
  EXPECT_TRUE(std::isnan(smooth[60].y));
  for (int i = 0; i < 100; ++i)
    if (i != 60) {
      EXPECT_NEAR(smooth[static_cast<std::size_t>(i)].y, 3.0 * i - 7, 1e-9) << i;
    }
}

TEST(Axis, TicksAreRound) {
  EXPECT_THAT(labels_of(Axis::linear(0, 1, 5)), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(labels_of(Axis::linear(0, 30000, 3)), ElementsAre("0", "10k", "20k", "30k"));
  EXPECT_THAT(labels_of(Axis::linear(-3, 3, 3)), ElementsAre("-2", "0", "2"));
  EXPECT_THAT(labels_of(Axis::linear(0.97, 0.981, 4)), ElementsAre("0.970", "0.975", "0.980"));
  EXPECT_THAT(labels_of(Axis::logarithmic(0.01, 10, 5)), ElementsAre("0.01", "0.1", "1", "10"));
}

TEST(Axis, EveryRangeHasAnAxis) {
  for (const auto& [low, high] : {std::pair(0.0, 0.0),
                                  {5.0, 5.0},
                                  {-1.0, -1.0},
                                  {1.0, 0.0},
                                  {NAN, 1.0},
                                  {1e-300, 1e300},
                                  {0.0, 1e-12},
                                  {-INFINITY, INFINITY}}) {
    const Axis axis = Axis::linear(low, high, 5);
    EXPECT_LT(axis.low(), axis.high());
    EXPECT_LT(axis.ticks().size(), 20u);
  }
  EXPECT_GE(Axis::logarithmic(1, 1, 5).ticks().size(), 1u);
  EXPECT_EQ(Axis::logarithmic(0.1, 10, 5).place(1), 0.5);
  EXPECT_FALSE(Axis::logarithmic(0.1, 10, 5).shows(0));
}

} // namespace
} // namespace dlhost::tools
