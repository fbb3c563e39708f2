// The conditions under which a run ends by itself.
#include <gmock/gmock.h>

#include "trained.h"

namespace dlhost::test {
namespace {

using EndsTest = Bench;

TEST_F(EndsTest, AfterATime) {
  const auto trained = train(small_job(), {"train.stop={ seconds = 0.2 }"});
  EXPECT_EQ(trained.outcome.ending, run::Ending::finished);
  EXPECT_THAT(trained.outcome.reason, testing::HasSubstr(" s of training done"));
  EXPECT_GE(trained.outcome.progress.seconds, 0.2);
  EXPECT_GT(trained.losses.size(), 0U);
}

TEST_F(EndsTest, AtALossThatIsSmoothed) {
  const auto trained = train(small_job(), {"train.stop={ loss = 0.9, steps = 2000 }"});
  EXPECT_THAT(trained.outcome.reason, testing::HasSubstr("the loss reached"));
  ASSERT_GT(trained.losses.size(), 1U);
  double smoothed = trained.losses[0], before = smoothed;
  for (std::size_t i = 1; i < trained.losses.size(); ++i) {
    before = smoothed;
    smoothed = 0.98 * smoothed + 0.02 * trained.losses[i];
  }
  EXPECT_GT(before, 0.9);
  EXPECT_LE(smoothed, 0.9);
}

TEST_F(EndsTest, WhenNoValidationIsBetterAnyMore) {
  const std::vector<std::string> set{"layer.data.validate=20", "validate.every={ steps = 3 }",
                                     "train.stop={ patience = 2, steps = 30 }"};
  auto still = set;
  still.push_back("updater.rate=0.0");
  const auto trained = train(small_job(), still); // the first is the best, and the next two are no better
  EXPECT_EQ(trained.losses.size(), 9U);
  EXPECT_EQ(trained.outcome.reason, "no better validation in 2 evaluations");
  EXPECT_EQ(train(small_job(), set).losses.size(), 30U);
}

} // namespace
} // namespace dlhost::test
