// The first of two servers that each own half of a param: its messages to the other, and its waits for those of the
// other.
#include <array>
#include <cmath>

#include "served.h"

namespace dlhost::param {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ShardSumsTest : public Served {
 protected:
  void serve(const std::string& updater, double clip_norm) {
    lay_out(updater, "strict", std::vector<float>(32, 1.0F), 1);
    gradient_.fill(1);
    ShardSetup setup = this->setup(slices_);
    setup.contributors = {{0, 0, 0, std::as_bytes(std::span(gradient_))}};
    setup.update_settings.clip_norm = clip_norm;
    setup.send = [this](std::uint32_t seat, const Body& message) {
      sent_.push_back(message);
      to_.push_back(seat);
      return Status();
    };
    shard_ = *Shard::make(std::move(setup));
    shard_->begin({.version = 0, .steps = {0}});
  }
  Status update() { return take(to_server::Update{.rate = 0.5}); }
  Status norm(std::uint16_t seat, Version version, double squares) {
    return take(to_server::Norm{.version = version, .squares = squares}, seat);
  }
  Status sum(std::uint32_t which, double value, SliceId slice = 1, std::uint16_t seat = 1) {
    return take(to_server::Sum{.slice = slice, .which = which, .value = value}, seat);
  }
  float value() const { return reinterpret_cast<const float*>(masters_->value(0, 0).data())[0]; }
  // Checks the types of the messages that were sent since the last call.
  template <class... Type> void expect_sent() {
    const auto sent = std::exchange(sent_, {});
    ASSERT_EQ(sent.size(), sizeof...(Type));
    std::size_t at = 0;
    EXPECT_TRUE((... && (find_message<Type>(sent[at++]) != nullptr)));
  }

  std::array<float, 32> gradient_{};
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{32}, 2, 16);
  std::vector<Body> sent_;
  std::vector<std::uint32_t> to_;
};

TEST_F(ShardSumsTest, ClipsByTheNormOfBoth) {
  serve("sgd", 2);
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(value(), 1);
  ASSERT_THAT(to_, ElementsAre(1));
  EXPECT_EQ(find_message<to_server::Norm>(sent_[0])->squares, 16);
  expect_sent<to_server::Norm>();
  ASSERT_TRUE(norm(1, 0, 48).ok()); // 64 together: a norm of 8, four times the limit
  EXPECT_FLOAT_EQ(value(), 1 - 0.5F / 4);
}

TEST_F(ShardSumsTest, TheOtherMayBeFirst) {
  serve("sgd", 2);
  ASSERT_TRUE(norm(1, 0, 48).ok());
  EXPECT_EQ(value(), 1);
  ASSERT_TRUE(update().ok());
  EXPECT_FLOAT_EQ(value(), 1 - 0.5F / 4);
}

TEST_F(ShardSumsTest, WhatIsDueIsAnsweredWhenItIsMade) {
  serve("sgd", 2);
  ASSERT_TRUE(update().ok());
  sent_.clear();
  ASSERT_TRUE(take(to_server::Get{.at_least = 1}).ok());
  ASSERT_TRUE(take(to_server::Look()).ok());
  ASSERT_TRUE(take(to_server::Settle{.at_least = 1}).ok());
  expect_sent();
  ASSERT_TRUE(norm(1, 0, 48).ok());
  ASSERT_EQ(sent_.size(), 3U);
  for (const std::size_t which : {0, 1}) EXPECT_EQ(told_in(sent_[which])->version, 1U);
  expect_sent<to_client::Value, to_client::Seen, to_client::Settled>();
}

TEST_F(ShardSumsTest, AnUpdaterGetsSumsOverTheWholeParam) {
  serve("lamb", 0);
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(value(), 1);
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(find_message<to_server::Sum>(sent_[0])->value, 16); // of the squared values
  const double step = find_message<to_server::Sum>(sent_[1])->value / 16;
  expect_sent<to_server::Sum, to_server::Sum>();
  ASSERT_TRUE(sum(0, 128).ok());
  EXPECT_EQ(value(), 1);
  ASSERT_TRUE(sum(1, 16 * step).ok());
  // rate |w| / |d| d, with |w| over both halves.
  EXPECT_NEAR(value(), 1 - 0.5 * std::sqrt(144 / (32 * step)) * std::sqrt(step), 1e-6);
}

TEST_F(ShardSumsTest, ANormThatNobodyWaitsForIsCorrupt) {
  serve("sgd", 2);
  EXPECT_THAT(norm(0, 0, 1).message(), HasSubstr("a norm from seat 0, which is not expected"));
  EXPECT_THAT(norm(2, 0, 1).message(), HasSubstr("a norm from seat 2, which is not expected"));
  EXPECT_EQ(norm(1, 2, 1).code(), Code::corrupt);
  ASSERT_TRUE(norm(1, 0, 1).ok());
  EXPECT_EQ(norm(1, 0, 1).code(), Code::corrupt);
  EXPECT_THAT(sum(0, 1).message(), HasSubstr("sums of slice 1, but the updater needs none")); // sgd needs no sums
}

TEST_F(ShardSumsTest, SumsThatNobodyWaitsForAreCorrupt) {
  serve("lamb", 0);
  EXPECT_THAT(norm(1, 0, 1).message(), HasSubstr("a norm from seat 1, which is not expected"));
  EXPECT_THAT(sum(0, 1, 0).message(), HasSubstr("sums of slice 0 from seat 1")); // the server's own slice
  EXPECT_THAT(sum(0, 1, 1, 2).message(), HasSubstr("sums of slice 1 from seat 2"));
  EXPECT_THAT(sum(0, 1, 9).message(), HasSubstr("slice 9, which does not exist"));
  EXPECT_EQ(sum(2, 1).code(), Code::corrupt);
}

} // namespace
} // namespace dlhost::param
