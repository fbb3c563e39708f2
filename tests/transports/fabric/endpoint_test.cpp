// Endpoints of one process: messages at an endpoint's end, and refusals.
#include "endpoints.h"

namespace dlhost::plugins::fabric {
namespace {

using testing::HasSubstr;

TEST_F(EndpointTest, WhatWasSentBeforeAnEndArrivesBeforeIt) {
  auto other = open("other");
  constexpr std::size_t messages = 200, large = 200'000;
  std::vector<std::vector<std::byte>> rooms(messages, std::vector<std::byte>(large));
  for (auto& room : rooms) ASSERT_TRUE(other->post_recv(room, 1).ok());
  auto sender = host_.tasks().start("sender", [&] {
    const std::vector<std::byte> message(large, std::byte{7});
    auto one = open("one");
    const PeerId to = *one->connect(other->address());
    for (std::size_t i = 0; i < messages; ++i)
      ASSERT_TRUE(one->post_send(to, i, std::span(message).first(i % 5 == 0 ? large : 30), i).ok());
    std::vector<Completion> sent;
    while (sent.size() < messages) turn(*one, sent);
  });
  until({other.get()}, [&] { return count(done_[0], Completion::Kind::gone) == 1; });
  sender->join();
  ASSERT_EQ(done_[0].size(), messages + 1);
  for (std::size_t i = 0; i < messages; ++i) ASSERT_EQ(done_[0][i].tag, i);
}

TEST_F(EndpointTest, WhoIsNotThereIsGone) {
  auto one = open("one");
  std::string nobody;
  { nobody = open("nobody")->address(); }
  const auto to = one->connect(nobody);
  if (!to.ok()) return; // refused at once
  const std::vector<std::byte> message(64);
  const Status posted = one->post_send(*to, 5, message, 2);
  EXPECT_TRUE(posted.ok() || posted.code() == Code::gone) << posted.message();
  until({one.get()}, [&] { return count(done_[0], Completion::Kind::gone) == 1; });
  EXPECT_THAT(one->post_send(*to, 5, message, 2).message(), HasSubstr("the peer 'nobody' at 127.0.0.1:"));
}

// The tag's upper bits carry the receiver's token.
TEST_F(EndpointTest, TagsHaveThirtyTwoBits) {
  auto one = open("one"), other = open("other");
  const PeerId to = *one->connect(other->address());
  std::vector<std::byte> room(64), message(9);
  constexpr std::uint64_t largest = 0xFFFF'FFFF;
  EXPECT_THAT(one->post_send(to, largest + 1, room, 1).message(), HasSubstr("at most 4294967295"));
  ASSERT_TRUE(other->post_recv(room, 1).ok());
  ASSERT_TRUE(one->post_send(to, largest, message, 1).ok());
  until({one.get(), other.get()}, [&] { return count(done_[1], Completion::Kind::received) == 1; });
  EXPECT_EQ(done_[1].back().tag, largest);
}

TEST_F(EndpointTest, BothSidesHaveToSpeakTheSame) {
  auto one = open("one");
  auto other = FabricEndpoint::open(host_, "other", {.provider = "net", .secret = secret});
  if (!other.ok()) GTEST_SKIP() << other.status().message();
  EXPECT_THAT(one->connect((*other)->address()).status().message(), HasSubstr("'other' at 127.0.0.1:"));
  EXPECT_THAT(one->connect((*other)->address()).status().message(), HasSubstr("give both the same provider"));
  const auto none = FabricEndpoint::open(host_, "none", {.provider = "carrier-pigeon"});
  EXPECT_THAT(none.status().message(), HasSubstr("tried: carrier-pigeon"));
}

} // namespace
} // namespace dlhost::plugins::fabric
