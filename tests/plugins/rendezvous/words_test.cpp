#include "words.h"

#include <random>

#include <gmock/gmock.h>

namespace dlhost::plugins::rendezvous {
namespace {

Words everything() {
  const Member member{.rank = 3, .address = "an address", .host = "host", .since = 4};
  return {.kind = Words::Kind::membership,
          .code = Code::cancelled,
          .number = 1,
          .rank = 2,
          .epoch = 0xFFFFFFFF,
          .key = "key",
          .value = std::string("a\0b", 3),
          .members = {member, {}},
          .departures = {{.epoch = 9, .who = member, .why = "gone"}}};
}

TEST(WordsTest, WhatIsSaidIsUnderstood) {
  const std::string bytes = encode(everything());
  const auto words = decode(bytes);
  ASSERT_TRUE(words.ok()) << words.status().message();
  EXPECT_EQ(encode(*words), bytes);
  EXPECT_EQ(words->members.at(0).address, "an address");
  EXPECT_EQ(words->members.at(1).rank, any_rank);
  EXPECT_EQ(words->departures.at(0).why, "gone");
  EXPECT_EQ(words->value.size(), 3U);
}

TEST(WordsTest, CutShortLongerOrChangedIsNoMessageOrAnother) {
  const std::string bytes = encode(everything());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(bytes.substr(0, size)).ok()) << size;
  EXPECT_FALSE(decode(bytes + "x").ok());
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes;
    changed[random() % changed.size()] = static_cast<char>(random());
    if (const auto words = decode(changed); words.ok()) {
      EXPECT_EQ(encode(*words), changed);
    }
  }
}

TEST(WordsTest, NothingIsMadeOfAnnouncedCounts) {
  std::string bytes = encode({});
  bytes.replace(bytes.size() - 8, 4, "\xff\xff\xff\x7f", 4);
  EXPECT_FALSE(decode(bytes).ok());
  Words large;
  large.value.assign(Session::largest_value + 1, 'x');
  EXPECT_FALSE(decode(encode(large)).ok());
}

} // namespace
} // namespace dlhost::plugins::rendezvous
