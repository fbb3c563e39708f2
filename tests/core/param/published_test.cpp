#include "param/published.h"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>

namespace dlhost::param {
namespace {

using testing::ElementsAre;

class PublishedTest : public ::testing::Test {
 protected:
  void add(Version version, std::vector<std::uint64_t> applied) {
    published_.add(1, {version, version % 3, version % 2, 0, applied});
  }

  alignas(64) std::array<std::byte, 1024> memory_{};
  Published published_{memory_, 2};
};

TEST_F(PublishedTest, TheNewestAndTheOneBeforeItAreThere) {
  published_.clear(1);
  EXPECT_FALSE(published_.has(1));
  add(7, {3, 4});
  add(8, {4, 4});
  add(9, {4, 5});
  ASSERT_TRUE(published_.has(1));
  EXPECT_EQ(published_.newest(1).version, 9U);
  EXPECT_THAT(published_.newest(1).applied, ElementsAre(4, 5));
  Published::Record found;
  ASSERT_TRUE(published_.find(1, 8, found));
  EXPECT_EQ(found.value, 2U);
  EXPECT_EQ(found.history, 0U);
  EXPECT_THAT(found.applied, ElementsAre(4, 4));
  EXPECT_FALSE(published_.find(1, 7, found));
  EXPECT_FALSE(published_.find(1, 10, found));
}

TEST_F(PublishedTest, OneThatBeginsAnewHasNothingOfBefore) {
  published_.clear(1);
  add(7, {3, 4});
  published_.clear(1);
  Published::Record found;
  EXPECT_FALSE(published_.has(1));
  EXPECT_FALSE(published_.find(1, 7, found));
}

// Whoever reads after a death sees all of a record or none of it: the memory is cut between any two of its bytes.
TEST_F(PublishedTest, WhoDiesWhileItWritesLeavesWhatWasThere) {
  published_.clear(1);
  add(7, {3, 4});
  add(8, {4, 4});
  const auto before = memory_;
  add(9, {4, 5});
  const auto after = memory_;
  const std::size_t head = Published::bytes(1, 2); // of slice 1: its count is written last
  for (std::size_t written = 0; written < memory_.size(); ++written) {
    memory_ = before;
    std::memcpy(memory_.data(), after.data(), written);
    std::memcpy(memory_.data() + head, before.data() + head, sizeof(std::uint64_t));
    ASSERT_EQ(published_.newest(1).version, 8U) << written;
    ASSERT_THAT(published_.newest(1).applied, ElementsAre(4, 4)) << written;
  }
}

TEST_F(PublishedTest, SlicesDoNotTouch) {
  published_.clear(0);
  published_.clear(1);
  add(5, {1, 1});
  EXPECT_FALSE(published_.has(0));
  published_.add(0, {2, 0, 0, 0, std::vector<std::uint64_t>{9, 9}});
  EXPECT_EQ(published_.newest(1).version, 5U);
  EXPECT_EQ(published_.newest(0).version, 2U);
}

} // namespace
} // namespace dlhost::param
