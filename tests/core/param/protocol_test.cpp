#include "param/message/protocol.h"

#include <algorithm>
#include <array>
#include <set>

#include <gtest/gtest.h>

#include <dlhost/random.h>

namespace dlhost::param {
namespace {

using Bytes = std::array<std::byte, message_bytes>;

Bytes written(const Message& message) {
  Bytes bytes;
  write(message, bytes);
  return bytes;
}

TEST(Protocol, AMessageIsReadAsItWasWritten) {
  const to_server::Update sent{.slice = 0xdeadbeef,
                               .worker = {513, 77},
                               .step = 0x123456789abcdef0,
                               .samples = {1ULL << 40, 4096},
                               .based_on = ~std::uint64_t{0} - 1,
                               .place = 1ULL << 52,
                               .rate = 0.1,
                               .kind = ContributionKind::delta};
  const auto read = read_message(written({.sequence = 3, .epoch = 70'000, .body = sent}));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->sequence, 3);
  EXPECT_EQ(read->epoch, 70'000U);
  const auto* update = find_message<to_server::Update>(read->body);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->identity(1), sent.identity(1));
  EXPECT_EQ(update->based_on, sent.based_on);
  EXPECT_EQ(update->place, sent.place);
  EXPECT_EQ(update->rate, sent.rate);
  EXPECT_EQ(update->kind, sent.kind);
}

// Any bytes behind a valid header are some message of its type: the beginning of them comes back, and zeros follow.
TEST(Protocol, EachTypeTravelsWithAllItsFields) {
  Random random({1, 2}, 0, 0);
  std::set<std::pair<std::size_t, std::size_t>> types;
  for (int receiver = 0; receiver < 8; ++receiver)
    for (int type = 0; type < 20; ++type) {
      Bytes bytes;
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
      bytes[0] = static_cast<std::byte>(receiver);
      bytes[1] = static_cast<std::byte>(type);
      bytes[60] = std::byte{1}; // the kind of an update
      const auto read = read_message(bytes);
      if (!read.ok()) continue;
      types.emplace(receiver, type);
      const Bytes once = written(*read);
      EXPECT_EQ(written(*read_message(once)), once) << receiver << "." << type;
      std::size_t travelled = 0;
      while (travelled < message_bytes && once[travelled] == bytes[travelled]) ++travelled;
      const auto is_empty = [](const auto& message) { return std::is_empty_v<std::remove_cvref_t<decltype(message)>>; };
      EXPECT_EQ(travelled > 8, !visit_message(read->body, is_empty)) << receiver << "." << type;
      EXPECT_EQ(std::count(once.begin() + travelled, once.end(), std::byte{}), message_bytes - travelled)
          << receiver << "." << type << " has a field that does not travel, or one that does twice";
    }
  EXPECT_EQ(types.size(), std::variant_size_v<ToServer> + std::variant_size_v<ToChooser> +
                              std::variant_size_v<ToNeighbour> + std::variant_size_v<ToClient> +
                              std::variant_size_v<ToWorker>);
}

TEST(Protocol, WhatIsNoMessageIsRefused) {
  Bytes bytes = written({});
  EXPECT_TRUE(read_message(bytes).ok());
  EXPECT_EQ(read_message(std::span(bytes).first(63)).status().code(), Code::corrupt);
  bytes[0] = std::byte{200};
  EXPECT_EQ(read_message(bytes).status().message(),
            "unknown message type 0 to receiver 200: run the same build on all hosts");
  bytes = written({});
  bytes[1] = std::byte{99};
  EXPECT_EQ(read_message(bytes).status().message(),
            "unknown message type 99 to receiver 0: run the same build on all hosts");
  bytes = written({.body = to_server::Update{.kind = static_cast<ContributionKind>(9)}});
  EXPECT_EQ(read_message(bytes).status().message(), "unknown kind of contribution 9: run the same build on all hosts");
}

TEST(Protocol, OnlyMessagesAboutTheSameSliceKeepTheirOrder) {
  EXPECT_EQ(slice_of(to_server::Get{.slice = 7}), 7U);
  EXPECT_EQ(slice_of(to_neighbour::Part{.slice = 7}), 7U);
  EXPECT_FALSE(slice_of(to_server::Norm()));
  EXPECT_FALSE(slice_of(to_worker::Aligned{.slice = 7})) << "it comes after all that was shown";
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
