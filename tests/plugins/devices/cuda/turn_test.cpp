// The workers of a machine share its GPUs.
#include "turn.h"

#include <gtest/gtest.h>

namespace dlhost::plugins::cuda {
namespace {

TEST(Turn, EachTakesTheNext) {
  EXPECT_EQ(gpu_of(0, 0, 4), 0);
  EXPECT_EQ(gpu_of(0, 3, 4), 3);
  EXPECT_EQ(gpu_of(0, 5, 4), 1);
  EXPECT_EQ(gpu_of(0, 7, 1), 0);
}

TEST(Turn, ThoseBeforeTheFirstAreSomebodyElses) {
  EXPECT_EQ(gpu_of(2, 0, 4), 2);
  EXPECT_EQ(gpu_of(2, 1, 4), 3);
  EXPECT_EQ(gpu_of(2, 2, 4), 2);
}

TEST(Turn, OneThatThereIsNotIsLeftToBeNamed) {
  EXPECT_EQ(gpu_of(3, 1, 2), 3);
  EXPECT_EQ(gpu_of(0, 2, 0), 0);
}

} // namespace
} // namespace dlhost::plugins::cuda
