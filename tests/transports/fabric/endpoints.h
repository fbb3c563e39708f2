// Endpoints of one process that talk to one another, for tests.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "endpoint.h"
#include "env/real_host.h"

namespace dlhost::plugins::fabric {

constexpr Nanoseconds second = 1'000'000'000;
constexpr Secret secret{4, 2};

// Keeps the log's warnings.
class Words final : public Log {
 public:
  bool shows(LogLevel level) override { return level >= LogLevel::warning; }
  void write(LogLevel level, std::string_view line) override {
    const std::scoped_lock lock(guard_);
    if (shows(level)) lines_.emplace_back(line);
  }
  std::vector<std::string> lines() {
    const std::scoped_lock lock(guard_);
    return lines_;
  }

 private:
  std::mutex guard_;
  std::vector<std::string> lines_;
};

class ToldHost final : public env::RealHost {
 public:
  Words& log() override { return words_; }

 private:
  Words words_;
};

class EndpointTest : public testing::Test {
 protected:
  std::unique_ptr<FabricEndpoint> open(std::string_view name) {
    auto made = FabricEndpoint::open(host_, name, {.provider = "tcp", .secret = secret});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::unique_ptr<FabricEndpoint>(static_cast<FabricEndpoint*>(made->release()));
  }
  // Runs one turn of an endpoint, and appends its completions.
  void turn(FabricEndpoint& endpoint, std::vector<Completion>& into) {
    Completion made[8];
    const auto count = endpoint.progress(made, 1'000'000);
    ASSERT_TRUE(count.ok());
    into.insert(into.end(), made, made + *count);
  }
  template <class Enough> void until(const std::vector<FabricEndpoint*>& all, Enough&& enough) {
    const Nanoseconds end = host_.clock().now() + 20 * second;
    done_.resize(all.size());
    while (!enough()) {
      ASSERT_LT(host_.clock().now(), end) << "nothing more happens";
      for (std::size_t i = 0; i < all.size(); ++i) turn(*all[i], done_[i]);
    }
  }
  // Sends small messages one after the other, each into a room posted for it.
  void exchange(FabricEndpoint& one, PeerId to, FabricEndpoint& other, int rounds) {
    const auto received = [&] { return done_.size() == 2 ? count(done_[1], Completion::Kind::received) : 0; };
    std::vector<std::byte> room(64), message(64);
    for (int round = 0; round < rounds; ++round) {
      std::ranges::fill(message, std::byte(round + 1));
      const auto before = received();
      ASSERT_TRUE(other.post_recv(room, 1).ok());
      ASSERT_TRUE(one.post_send(to, 5, message, 2).ok());
      until({&one, &other}, [&] { return received() > before; });
      ASSERT_EQ(room, message);
    }
    EXPECT_EQ(count(done_[0], Completion::Kind::gone) + count(done_[1], Completion::Kind::gone), 0);
  }
  static std::ptrdiff_t count(const std::vector<Completion>& done, Completion::Kind kind) {
    return std::ranges::count(done, kind, &Completion::kind);
  }

  ToldHost host_;
  std::vector<std::vector<Completion>> done_;
};

} // namespace dlhost::plugins::fabric
