#include "param/message/protocol.h"

#include <array>

#include <gtest/gtest.h>

namespace dlhost::param {
namespace {

TEST(Protocol, AMessageIsReadAsItWasWritten) {
  const Message sent{.word = Word::update,
                     .contribution = ContributionKind::delta,
                     .seat = 3,
                     .epoch = 70'000,
                     .slice = 0xdeadbeef,
                     .group = 513,
                     .rank = 77,
                     .step = 0x123456789abcdef0,
                     .samples = {1ULL << 40, 4096},
                     .version = ~std::uint64_t{0} - 1,
                     .place = 1ULL << 52,
                     .rate = 0.1};
  std::array<std::byte, message_bytes> bytes;
  write(sent, bytes);
  const auto read = read_message(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->word, sent.word);
  EXPECT_EQ(read->contribution, sent.contribution);
  EXPECT_EQ(read->seat, sent.seat);
  EXPECT_EQ(read->identity(), sent.identity());
  EXPECT_EQ(read->version, sent.version);
  EXPECT_EQ(read->place, sent.place);
  EXPECT_EQ(read->rate, sent.rate);
}

TEST(Protocol, WhatIsNoMessageIsRefused) {
  std::array<std::byte, message_bytes> bytes{};
  EXPECT_EQ(read_message(bytes).status().code(), Code::corrupt); // word 0
  write({}, bytes);
  EXPECT_TRUE(read_message(bytes).ok());
  EXPECT_EQ(read_message(std::span(bytes).first(63)).status().code(), Code::corrupt);
  bytes[0] = std::byte{200};
  EXPECT_EQ(read_message(bytes).status().code(), Code::corrupt);
  write({}, bytes);
  bytes[1] = std::byte{9};
  EXPECT_EQ(read_message(bytes).status().code(), Code::corrupt);
}

TEST(Protocol, AContributorIsCountedGroupByGroup) {
  const Clients all{.groups = 2, .workers = 3}, behind{.first = 2, .groups = 2, .workers = 3};
  EXPECT_EQ(*contributor({.group = 0, .rank = 1}, all), 1U);
  EXPECT_EQ(*contributor({.group = 1, .rank = 2}, all), 5U);
  EXPECT_EQ(contributor({.group = 2, .rank = 0}, all).status().code(), Code::corrupt);
  EXPECT_EQ(contributor({.group = 0, .rank = 3}, all).status().code(), Code::corrupt);
  EXPECT_EQ(*contributor({.group = 3, .rank = 2}, behind), 5U);
  EXPECT_EQ(behind.first_contributor(), 6U);
  EXPECT_EQ(contributor({.group = 1, .rank = 0}, behind).status().code(), Code::corrupt);
}

} // namespace
} // namespace dlhost::param
