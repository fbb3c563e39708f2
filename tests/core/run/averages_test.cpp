#include "run/session/averages.h"

#include <gmock/gmock.h>

namespace dlhost::run {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Averages, EachReaderHasItsOwn) {
  std::vector<program::Metric> metrics(3); // a loss of two frames, and an accuracy
  metrics[0].name = metrics[1].name = "loss";
  metrics[2].name = "accuracy";
  const auto step = [&](double loss, double other_loss, double right) {
    metrics[0].last_sum = loss, metrics[1].last_sum = other_loss, metrics[2].last_sum = right;
    metrics[0].last_count = 2, metrics[1].last_count = 1, metrics[2].last_count = 4;
  };
  Averages often, seldom;
  step(6, 3, 1);
  often.add(metrics), seldom.add(metrics);
  EXPECT_THAT(often.read(metrics), ElementsAre(Pair("loss", 3.0), Pair("accuracy", 0.25)));
  step(0, 3, 3);
  often.add(metrics), seldom.add(metrics);
  EXPECT_THAT(often.read(metrics), ElementsAre(Pair("loss", 1.0), Pair("accuracy", 0.75)));
  EXPECT_THAT(seldom.read(metrics), ElementsAre(Pair("loss", 2.0), Pair("accuracy", 0.5)));
  EXPECT_THAT(seldom.read(metrics), ElementsAre(Pair("loss", 0.0), Pair("accuracy", 0.0)));
}

TEST(Averages, ThoseOfTheLastStepsForgetTheFirst) {
  std::vector<program::Metric> metrics(1);
  metrics[0].name = "loss";
  metrics[0].last_count = 1;
  RecentAverages recent;
  MetricValues means;
  recent.read(metrics, 5, means);
  EXPECT_THAT(means, ElementsAre(Pair("loss", 0.0)));
  for (int step = 1; step <= 250; ++step) {
    metrics[0].last_sum = step;
    recent.add(metrics);
  }
  recent.read(metrics, 1, means);
  EXPECT_THAT(means, ElementsAre(Pair("loss", 250.0)));
  recent.read(metrics, 4, means);
  EXPECT_THAT(means, ElementsAre(Pair("loss", 248.5)));
  recent.read(metrics, 250, means);
  EXPECT_THAT(means, ElementsAre(Pair("loss", 200.5))); // of a hundred
}

} // namespace
} // namespace dlhost::run
