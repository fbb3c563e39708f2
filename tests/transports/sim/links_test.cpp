// Messages of two simulated processes after a kill or a cut link.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint.h"
#include "env/simulated/host.h"

namespace dlhost::plugins::sim {
namespace {

using env::simulated::SimulatedHost;
using env::simulated::World;
using testing::ElementsAre;

constexpr Nanoseconds millisecond = 1'000'000;
constexpr Nanoseconds patience = 60'000 * millisecond;

// One end of a link: sends numbers, and records the numbers that arrive and the time of its peer's end.
class End {
 public:
  End(SimulatedHost& host, std::string name, const Weather& weather)
      : host_(host), endpoint_(host, name, weather), name_(std::move(name)) {
    for (std::size_t room = 0; room < rooms_.size(); ++room)
      EXPECT_TRUE(endpoint_.post_recv(std::as_writable_bytes(std::span(&rooms_[room], 1)), room).ok());
  }

  std::string address() const { return endpoint_.address(); }
  void connect(const std::string& address) {
    auto peer = endpoint_.connect(address);
    ASSERT_TRUE(peer.ok()) << peer.status().message();
    peer_ = *peer;
  }
  void send(int number) {
    const auto bytes = std::as_bytes(std::span(&number, 1));
    while (true) {
      const Status status = endpoint_.post_send(peer_, 0, bytes, 0);
      if (status.ok() || status.code() != Code::timeout) return;
      progress(millisecond);
    }
  }
  void progress(Nanoseconds limit) {
    Completion made[8];
    const auto count = endpoint_.progress(made, limit);
    ASSERT_TRUE(count.ok()) << count.status().message();
    for (const Completion& completion : std::span(made, *count)) {
      if (completion.kind == Completion::Kind::gone) gone_at = host_.clock().now();
      if (completion.kind != Completion::Kind::received) continue;
      got.push_back(rooms_.at(completion.cookie));
      ASSERT_TRUE(
          endpoint_.post_recv(std::as_writable_bytes(std::span(&rooms_[completion.cookie], 1)), completion.cookie)
              .ok());
    }
  }
  void until_gone() {
    while (gone_at == 0 && host_.clock().now() < patience) progress(100 * millisecond);
  }

  std::vector<int> got;
  Nanoseconds gone_at = 0;

 private:
  SimulatedHost& host_;
  SimEndpoint endpoint_;
  std::string name_;
  PeerId peer_ = 0;
  std::vector<int> rooms_ = std::vector<int>(8);
};

struct Links : testing::TestWithParam<std::uint64_t> {
  World world{GetParam()};
  SimulatedHost host{world};
  Weather weather{.seed = GetParam(), .least = 0, .most = 5 * millisecond, .notice = 50 * millisecond, .cuts = {}};
};

TEST_P(Links, OfTheKilledArriveAsManyAsWereOnTimeAndThenThatItIsGone) {
  std::string address;
  std::vector<int> got;
  Nanoseconds gone_at = 0;
  const int sender = world.start("sender", [&] {
    End end(host, "sender", weather);
    while (address.empty()) host.clock().sleep(millisecond);
    end.connect(address);
    for (int number = 0;; ++number) {
      end.send(number);
      end.progress(millisecond);
    }
  });
  world.start("receiver", [&] {
    End end(host, "receiver", weather);
    address = end.address();
    end.until_gone();
    got = end.got;
    gone_at = end.gone_at;
  });
  world.at(200 * millisecond, [&] { world.kill(sender); });
  const Status status = world.run(2 * patience);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GE(got.size(), 10U);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<int>(i)) << "in order, none missing";
  EXPECT_GE(gone_at, 250 * millisecond);
  EXPECT_LE(gone_at, 270 * millisecond);
}

TEST_P(Links, OfACutLinkBothSidesSeeTheOtherGone) {
  weather.cuts = {{"two", "one", 100 * millisecond}};
  std::map<std::string, std::string> addresses;
  std::vector<Nanoseconds> gone;
  for (const auto& [self, other] : {std::pair("one", "two"), std::pair("two", "one")})
    world.start(self, [&, self = self, other = other] {
      End end(host, self, weather);
      addresses[self] = end.address();
      while (!addresses.contains(other)) host.clock().sleep(millisecond);
      end.connect(addresses[other]);
      while (end.gone_at == 0 && host.clock().now() < patience) {
        end.send(1);
        end.progress(millisecond);
      }
      gone.push_back(end.gone_at);
      host.clock().sleep(1000 * millisecond);
    });
  ASSERT_TRUE(world.run(2 * patience).ok());
  ASSERT_EQ(gone.size(), 2U);
  for (const Nanoseconds at : gone) {
    EXPECT_GE(at, 150 * millisecond);
    EXPECT_LE(at, 180 * millisecond);
  }
}

// A process that ends in order delivers all its messages.
TEST_P(Links, WhatWasSentBeforeTheEndArrives) {
  std::string address;
  std::vector<int> got;
  world.start("sender", [&] {
    End end(host, "sender", weather);
    while (address.empty()) host.clock().sleep(millisecond);
    end.connect(address);
    for (const int number : {1, 2, 3}) end.send(number);
  });
  world.start("receiver", [&] {
    End end(host, "receiver", weather);
    address = end.address();
    end.until_gone();
    got = end.got;
  });
  ASSERT_TRUE(world.run(2 * patience).ok());
  EXPECT_THAT(got, ElementsAre(1, 2, 3));
}

// Breaks a transport's promise on purpose: some messages arrive behind later ones, and all arrive once.
TEST_P(Links, WhatIsReorderedComesLateAndOnce) {
  constexpr int count = 200;
  weather.reordered = 0.1;
  std::string address;
  std::vector<int> got;
  world.start("sender", [&] {
    End end(host, "sender", weather);
    while (address.empty()) host.clock().sleep(millisecond);
    end.connect(address);
    for (int number = 0; number < count; ++number) end.send(number);
  });
  world.start("receiver", [&] {
    End end(host, "receiver", weather);
    address = end.address();
    end.until_gone();
    got = end.got;
  });
  ASSERT_TRUE(world.run(2 * patience).ok());
  const auto late = [](int before, int then) { return then < before; };
  EXPECT_NE(std::ranges::adjacent_find(got, late), got.end()) << "each came behind those before it";
  std::ranges::sort(got);
  ASSERT_EQ(got.size(), std::size_t{count});
  for (int number = 0; number < count; ++number) EXPECT_EQ(got[static_cast<std::size_t>(number)], number);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Links, testing::Range<std::uint64_t>(0, 20));

} // namespace
} // namespace dlhost::plugins::sim
