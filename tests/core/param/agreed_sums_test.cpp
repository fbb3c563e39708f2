#include "param/exchange/agreed_sums.h"

#include <gmock/gmock.h>

namespace dlhost::param {
namespace {

using testing::ElementsAre;

TEST(AgreedSums, AreKnownWhenAllPartsAre) {
  AgreedSums sums(2, 2);
  sums.begin(7);
  EXPECT_TRUE(sums.put(7, 1, 0, 10).ok());
  EXPECT_TRUE(sums.put(7, 0, 1, 2).ok());
  EXPECT_TRUE(sums.put(7, 0, 0, 1).ok());
  EXPECT_FALSE(sums.whole());
  EXPECT_TRUE(sums.put(7, 1, 1, 20).ok());
  ASSERT_TRUE(sums.whole());
  EXPECT_THAT(sums.take(), ElementsAre(11, 22));
  EXPECT_EQ(sums.version(), 8U);
  EXPECT_FALSE(sums.whole());
}

// In floating point, the order of a sum is seen in its last bits.
TEST(AgreedSums, AreAddedInTheOrderOfTheParts) {
  const std::array parts{1e16, 1.0, -1e16};
  for (const std::array<std::size_t, 3> arrival : {std::array<std::size_t, 3>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    AgreedSums sums(3, 1);
    for (const std::size_t part : arrival) ASSERT_TRUE(sums.put(0, part, 0, parts[part]).ok());
    EXPECT_THAT(sums.take(), ElementsAre((1e16 + 1.0) - 1e16));
  }
}

TEST(AgreedSums, APartMayBeOneVersionAheadAndNoMore) {
  AgreedSums sums(2, 1);
  EXPECT_TRUE(sums.put(0, 0, 0, 1).ok());
  EXPECT_TRUE(sums.put(1, 0, 0, 5).ok());
  EXPECT_EQ(sums.put(2, 0, 0, 9).code(), Code::corrupt);
  EXPECT_TRUE(sums.put(0, 1, 0, 2).ok());
  EXPECT_THAT(sums.take(), ElementsAre(3));
  EXPECT_FALSE(sums.whole());
  EXPECT_TRUE(sums.put(1, 1, 0, 6).ok());
  EXPECT_THAT(sums.take(), ElementsAre(11));
  EXPECT_EQ(sums.put(1, 0, 0, 9).code(), Code::corrupt); // it is over
}

TEST(AgreedSums, WhatNobodyWaitsForIsCorrupt) {
  AgreedSums sums(2, 2);
  EXPECT_TRUE(sums.put(0, 1, 1, 1).ok());
  EXPECT_EQ(sums.put(0, 1, 1, 1).code(), Code::corrupt); // twice
  EXPECT_EQ(sums.put(0, 2, 0, 1).code(), Code::corrupt);
  EXPECT_EQ(sums.put(0, 0, 2, 1).code(), Code::corrupt);
  EXPECT_EQ(sums.put(0, ~std::size_t{0}, 0, 1).code(), Code::corrupt);
  sums.begin(3);
  EXPECT_TRUE(sums.put(3, 1, 1, 1).ok()); // all is forgotten
}

} // namespace
} // namespace dlhost::param
