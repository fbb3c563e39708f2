#include "param/table/slices.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace dlhost::param {
namespace {

TEST(Slices, EveryElementHasOneOwner) {
  const std::vector<std::int64_t> elements{1000, 7, 0, 16384, 50001, 33};
  for (const std::uint32_t servers : {1U, 2U, 3U, 8U}) {
    const Slices slices = Slices::cut(elements, servers, 1000);
    for (std::size_t p = 0; p < elements.size(); ++p) {
      std::int64_t next = 0;
      for (const Slice& slice : slices.of(p)) {
        EXPECT_EQ(slice.param, p);
        EXPECT_EQ(slice.first, next);
        EXPECT_GT(slice.count, 0);
        EXPECT_LT(slice.server, servers);
        EXPECT_EQ(slices[slice.id].first, slice.first);
        next += slice.count;
      }
      EXPECT_EQ(next, elements[p]);
    }
  }
}

TEST(Slices, OwnersDoNotShareACacheLine) {
  const Slices slices = Slices::cut(std::vector<std::int64_t>{100'003}, 7, 1);
  ASSERT_EQ(slices.size(), 7U);
  for (const Slice& slice : slices.all()) EXPECT_EQ(slice.first % 16, 0);
}

TEST(Slices, SmallParamsStayWholeAndGoToTheLeastLoaded) {
  const Slices slices = Slices::cut(std::vector<std::int64_t>{100, 10'000, 200, 300}, 2, 1000);
  EXPECT_EQ(slices.of(1).size(), 2U);
  EXPECT_EQ(slices.of(0).size(), 1U);
  std::vector<std::int64_t> load(2);
  for (const Slice& slice : slices.all()) load[slice.server] += slice.count;
  EXPECT_LE(std::abs(load[0] - load[1]), 16); // a cache line
}

TEST(Slices, WhatBelongsTogetherHasOneOwner) {
  const std::vector<std::int64_t> elements{7 * 96, 1000, 60}, pieces{7, 1, 60};
  const Slices slices = Slices::cut(elements, 3, 1, pieces);
  ASSERT_EQ(slices.of(0).size(), 3U);
  for (const Slice& slice : slices.of(0)) {
    EXPECT_EQ(slice.first % 7, 0);
    EXPECT_EQ(slice.first % 16, 0) << "nor do owners share a cache line";
  }
  EXPECT_EQ(slices.of(1).size(), 3U);
  EXPECT_EQ(slices.of(2).size(), 1U) << "it is one piece";
}

// Whatever its size. Others fill up the servers that have less.
TEST(Slices, APartWithAnOwnerStaysWhole) {
  const Slices slices =
      Slices::cut(std::vector<std::int64_t>{10'000, 300, 200}, 2, 1000, {}, 0, {{{0, 10'000, 1U}}, {}, {}});
  ASSERT_EQ(slices.of(0).size(), 1U);
  EXPECT_EQ(slices.of(0)[0].server, 1U);
  EXPECT_EQ(slices.of(0)[0].count, 10'000);
  EXPECT_EQ(slices.of(1)[0].server, 0U);
  EXPECT_EQ(slices.of(2)[0].server, 0U);
}

TEST(Slices, PartsAreCutEachByItself) {
  const Slices slices =
      Slices::cut(std::vector<std::int64_t>{10'000}, 2, 1000, {}, 0, {{{0, 99, 1U}, {99, 9000, {}}, {9099, 901, 0U}}});
  ASSERT_EQ(slices.size(), 4U);
  std::int64_t end = 0;
  for (const Slice& slice : slices.all()) {
    EXPECT_EQ(slice.first, end) << "they are in the order of the elements";
    end += slice.count;
  }
  EXPECT_EQ(end, 10'000);
  EXPECT_EQ((std::vector{slices[0].part, slices[1].part, slices[2].part, slices[3].part}),
            (std::vector<std::uint32_t>{0, 1, 1, 2}));
  EXPECT_NE(slices[1].server, slices[2].server);
}

TEST(Slices, AFewElementsAreNeverCutThinnerThanALine) {
  EXPECT_EQ(Slices::cut(std::vector<std::int64_t>{20}, 4, 1).size(), 1U);
}

} // namespace
} // namespace dlhost::param
