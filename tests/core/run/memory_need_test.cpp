// Jobs that do not fit into memory, and their messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/session/memory_need.h"

namespace dlhost::run {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

MemoryNeed need() {
  MemoryNeed made;
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
  MemoryNeed smaller = need();
  smaller.by_batch = 6 * gib / 60 * 29;
  smaller.total = 2 * gib + smaller.by_batch;
  EXPECT_TRUE(check_room(smaller, 5 * gib, "train.batch", 29).ok());
}

TEST(Room, OfADeviceItIsSaidWhose) {
  MemoryNeed there = need();
  there.of = "the memory of device 'cuda'";
  EXPECT_THAT(check_room(there, 5 * gib, "train.batch", 60).message(),
              testing::StartsWith("the job needs 8 GiB of the memory of device 'cuda', and 5 GiB are available"));
  EXPECT_THAT(check_room(there, gib, "train.batch", 60).message(), testing::HasSubstr("or a device with more memory"));
}

TEST(Room, NoBatchIsSmallEnoughForTheParams) {
  const std::string told = check_room(need(), gib, "test.batch", 60).message();
  EXPECT_THAT(told, testing::HasSubstr("no batch is small enough"));
  EXPECT_THAT(told, testing::Not(testing::HasSubstr("test.batch")));
}

TEST(Room, ManySmallThingsAreSummedUp) {
  MemoryNeed many = need();
  for (int i = 0; i < 10; ++i) many.parts.push_back({"another", 1024});
  EXPECT_THAT(check_room(many, 0, "train.batch", 60).message(), testing::HasSubstr("9 others"));
}

// Features and copies for each worker, shared gradients for each, params once.
TEST(Room, SeveralWorkersShareTheirParamsOnly) {
  MemoryNeed one;
  one.parts = {{"features of layer 'conv'", 3 * gib}};
  one.total = 3 * gib;
  one.by_batch = 2 * gib;
  const MemoryNeed all = several(one, {.workers = 4, .each = gib, .together = 5 * gib});
  EXPECT_EQ(all.total, (4 * 3 + 4 + 5) * gib);
  EXPECT_EQ(all.shared, (4 + 5) * gib);
  EXPECT_EQ(all.by_batch, 4 * 2 * gib);
  EXPECT_TRUE(check_room(all, 21 * gib, "train.batch", 64).ok());
  EXPECT_THAT(check_room(all, 17 * gib, "train.batch", 64).message(),
              testing::AllOf(testing::HasSubstr("needs 21 GiB of memory, and 17 GiB are available"),
                             testing::HasSubstr("train.batch = 32, or"),
                             testing::HasSubstr("12 GiB  features of layer 'conv', of 4 workers"),
                             testing::HasSubstr("5 GiB  params in shared memory")));
  EXPECT_THAT(check_room(all, 4 * gib, "train.batch", 64).message(), testing::HasSubstr("fewer workers"));
  EXPECT_TRUE(check_shared_room(all, 9 * gib, "/dev/shm").ok());
  const Status full = check_shared_room(all, 8 * gib, "/dev/shm");
  EXPECT_EQ(full.code(), Code::no_space);
  EXPECT_THAT(full.message(), testing::HasSubstr("share 9 GiB of memory, and 8 GiB are free in /dev/shm; make it "
                                                 "larger (mount -o remount,size=... /dev/shm"));
}

} // namespace
} // namespace dlhost::run
