// What does not fit, and what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/room.h"

namespace dlhost::run {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

Need need() {
  Need made;
  made.parts = {{"params of layer 'fc'", 2 * gib}, {"features of layer 'conv'", 6 * gib}, {"a", 1}, {"b", 1}, {"c", 1}};
  made.total = 8 * gib;
  made.by_batch = 6 * gib;
  return made;
}

TEST(Room, WhatFitsIsLetIn) {
  EXPECT_TRUE(check_room(need(), 8 * gib, "train.batch", 60).ok());
  EXPECT_TRUE(check_room({}, 0, "train.batch", 1).ok());
}

TEST(Room, TheLargestBatchThatFitsIsNamed) {
  const Status full = check_room(need(), 5 * gib, "train.batch", 60);
  EXPECT_EQ(full.code(), Code::no_space);
  EXPECT_THAT(full.message(),
              testing::StartsWith("the job needs 8 GiB of memory, and 5 GiB are available; a smaller "
                                  "batch fits: train.batch = 29, or a little less. What takes most:\n"
                                  "  6 GiB  features of layer 'conv'\n  2 GiB  params of layer 'fc'\n"));
  Need smaller = need();
  smaller.by_batch = 6 * gib / 60 * 29;
  smaller.total = 2 * gib + smaller.by_batch;
  EXPECT_TRUE(check_room(smaller, 5 * gib, "train.batch", 29).ok());
}

TEST(Room, NoBatchIsSmallEnoughForTheParams) {
  const std::string told = check_room(need(), gib, "test.batch", 60).message();
  EXPECT_THAT(told, testing::HasSubstr("no batch is small enough"));
  EXPECT_THAT(told, testing::Not(testing::HasSubstr("test.batch")));
}

TEST(Room, ManySmallThingsAreSummedUp) {
  Need many = need();
  for (int i = 0; i < 10; ++i) many.parts.push_back({"another", 1024});
  EXPECT_THAT(check_room(many, 0, "train.batch", 60).message(), testing::HasSubstr("9 others"));
}

} // namespace
} // namespace dlhost::run
