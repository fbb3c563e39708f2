// What is wished of a run from elsewhere is done once, by whoever leads it, and answered.
#include "run/coordinator/steering.h"

#include <atomic>

#include <gtest/gtest.h>

#include "env/real_host.h"

#include "../../temporary_folder.h"

namespace dlhost::run {
namespace {

class SteeringTest : public testing::Test {
 protected:
  // Until it is there; bounded.
  Status answer() {
    for (int look = 0; look < 1000; ++look, host_.clock().sleep(10'000'000)) {
      auto answer = steering_.answer();
      if (!answer.ok()) return std::move(answer).status();
      if (*answer) return **answer;
    }
    return Status::timeout("nobody answers");
  }

  const test::TemporaryFolder folder_;
  env::RealHost host_{LogLevel::error};
  Steering steering_{host_.disk(), folder_.path()};
};

TEST_F(SteeringTest, IsDoneOnceAndAnswered) {
  std::atomic<int> ends{0}, kills{0};
  const Steered steered(
      host_, folder_.path(), [&] { return ++ends, Status(); },
      [&](std::uint32_t worker) {
        ++kills;
        return worker < 3 ? Status() : Status::invalid("there is no worker ", worker);
      });
  ASSERT_TRUE(steering_.wish({.kill = 2}).ok());
  EXPECT_TRUE(answer().ok());
  EXPECT_TRUE(steering_.is_taken());
  ASSERT_TRUE(steering_.wish({.kill = 3}).ok());
  EXPECT_EQ(answer().message(), "there is no worker 3");
  ASSERT_TRUE(steering_.wish({}).ok());
  EXPECT_TRUE(answer().ok());
  EXPECT_EQ(kills, 2);
  EXPECT_EQ(ends, 1);
}

TEST_F(SteeringTest, OneWishWaitsForItsAnswerBeforeAnother) {
  ASSERT_TRUE(steering_.wish({.kill = 1}).ok());
  EXPECT_EQ(steering_.wish({}).code(), Code::exists);
  ASSERT_TRUE(steering_.answer().ok());
  EXPECT_FALSE(*steering_.answer());
  steering_.forget();
  EXPECT_TRUE(steering_.wish({}).ok());
}

TEST_F(SteeringTest, WhatCannotBeReadIsNoWish) {
  for (const char* text : {"", "{", "[]", "{}", R"({"kill": -1})", R"({"kill": "1"})", R"({"kill": 1.5})"}) {
    ASSERT_TRUE(host_.disk().write_text(folder_.path() + "/steer.json", text).ok());
    EXPECT_FALSE(steering_.take()) << text;
    EXPECT_TRUE(steering_.is_taken()) << text;
  }
  ASSERT_TRUE(host_.disk().write_text(folder_.path() + "/steered.json", "half").ok());
  EXPECT_EQ(steering_.answer().status().code(), Code::corrupt);
}

} // namespace
} // namespace dlhost::run
