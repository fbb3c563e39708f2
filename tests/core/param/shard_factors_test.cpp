// A server whose workers send the factors of their gradients.
#include <array>
#include <cstring>

#include "served.h"

namespace dlhost::param {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// w[2, 3] = 0; each of two workers has two rows.
class ShardFactorsTest : public Served {
 protected:
  ShardFactorsTest() { factors_ = {.x = {DType::f32, {2, 3}, {}}, .dy = {DType::f32, {2, 2}, {}}}; }

  void serve(const std::string& consistency, std::size_t versions) {
    lay_out("sgd", consistency, std::vector<float>(6), versions);
    leave(0, {1, 2, 3, 0, 0, 0}, {1, 10, 5, 5});
    leave(1, {1, 1, 1, 0, 0, 2}, {1, 0, 0, 1});
    ShardSetup setup = this->setup(slices_);
    setup.contributors = {{0, 0, 0, sent_[0]}, {0, 1, 1, sent_[1]}};
    setup.send = [this](std::uint32_t, const Body& message) {
      place_ = told_in(message)->place;
      return Status();
    };
    auto shard = Shard::make(std::move(setup));
    ASSERT_TRUE(shard.ok()) << shard.status().message();
    shard_ = *std::move(shard);
  }
  void leave(std::size_t worker, std::array<float, 6> x, std::array<float, 4> dy) {
    auto& sent = sent_.at(worker);
    sent.resize(factors_->bytes());
    std::memcpy(sent.data(), x.data(), sizeof x);
    std::memcpy(sent.data() + factors_->dy_at(), dy.data(), sizeof dy);
  }
  static to_server::Update update(std::uint16_t rank, ContributionKind kind = ContributionKind::factors) {
    return {.worker = {.rank = rank}, .rate = 1, .kind = kind};
  }
  std::span<const float> value() {
    EXPECT_TRUE(take(to_server::Get()).ok());
    return {reinterpret_cast<const float*>(masters_->value(0, place_).data()), 6};
  }

  std::array<std::vector<std::byte>, 2> sent_;
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{6}, 1, 100);
  std::uint64_t place_ = 0;
};

TEST_F(ShardFactorsTest, TheVersionIsMadeOfTheSumOfProducts) {
  serve("strict", 1);
  ASSERT_TRUE(take(update(1)).ok());
  EXPECT_THAT(value(), ElementsAre(0, 0, 0, 0, 0, 0));
  ASSERT_TRUE(take(update(0)).ok());
  EXPECT_THAT(value(), ElementsAre(-2, -3, -4, -10, -20, -32));
}

TEST_F(ShardFactorsTest, OneContributionIsAProductAlone) {
  serve("eventual", 4);
  ASSERT_TRUE(take(update(1)).ok());
  EXPECT_THAT(value(), ElementsAre(-1, -1, -1, 0, 0, -2));
}

// w[2, 3], a table; each worker has read two of its rows.
class ShardRowsTest : public ShardFactorsTest {
 protected:
  ShardRowsTest() { factors_ = {.x = {DType::i32, {2}, {}}, .dy = {DType::f32, {2, 3}, {}}, .of_rows = true}; }
  void leave_rows(std::size_t worker, std::array<std::int32_t, 2> numbers, std::array<float, 6> rows) {
    std::memcpy(sent_.at(worker).data(), numbers.data(), sizeof numbers);
    std::memcpy(sent_.at(worker).data() + factors_->dy_at(), rows.data(), sizeof rows);
  }
};

TEST_F(ShardRowsTest, RowsAreAddedToThoseOfTheTable) {
  serve("strict", 1);
  leave_rows(0, {1, 1}, {1, 2, 3, 10, 20, 30});
  leave_rows(1, {0, 1}, {5, 6, 7, 100, 200, 300});
  ASSERT_TRUE(take(update(1, ContributionKind::rows)).ok());
  ASSERT_TRUE(take(update(0, ContributionKind::rows)).ok());
  EXPECT_THAT(value(), ElementsAre(-5, -6, -7, -111, -222, -333));
}

// Invalid row numbers of a broken worker change nothing.
TEST_F(ShardRowsTest, WhatIsNoRowOfTheTableIsLeftOut) {
  serve("eventual", 4);
  leave_rows(1, {-1, 2}, {1, 2, 3, 10, 20, 30});
  ASSERT_TRUE(take(update(1, ContributionKind::rows)).ok());
  EXPECT_THAT(value(), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(take(update(0, ContributionKind::factors)).message(), HasSubstr("sends the wrong kind of contribution"));
}

TEST_F(ShardFactorsTest, WhatIsNoneIsCorrupt) {
  serve("strict", 1);
  EXPECT_THAT(take(update(0, ContributionKind::dense)).message(), HasSubstr("sends the wrong kind of contribution"));
  to_server::Update beyond = update(0);
  beyond.place = 4; // its end is outside of the worker's memory
  EXPECT_THAT(take(beyond).message(), HasSubstr("outside of its memory"));
}

} // namespace
} // namespace dlhost::param
