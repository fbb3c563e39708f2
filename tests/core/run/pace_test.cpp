#include "run/session/pace.h"

#include <gtest/gtest.h>

namespace dlhost::run {
namespace {

TEST(Pace, NothingBeforeTheFirstStep) {
  const Pace pace;
  EXPECT_EQ(pace.median(), 0);
  EXPECT_EQ(pace.least(), 0);
}

TEST(Pace, OnePauseDoesNotMoveTheMedian) {
  Pace pace;
  for (const double seconds : {3.0, 1.0, 2.0, 900.0, 2.0}) pace.add(seconds);
  EXPECT_EQ(pace.median(), 2);
  EXPECT_EQ(pace.least(), 1);
}

TEST(Pace, ForgetsWhatIsLongAgo) {
  Pace pace;
  for (int i = 0; i < 10; ++i) pace.add(1);
  for (int i = 0; i < 4096; ++i) pace.add(5);
  EXPECT_EQ(pace.least(), 5);
  EXPECT_EQ(pace.median(), 5);
}

} // namespace
} // namespace dlhost::run
