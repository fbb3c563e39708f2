#include "param/server/surviving_versions.h"

#include <array>
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
  SurvivingVersions published_{memory_, 2};
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
  SurvivingVersions::Record found;
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
  SurvivingVersions::Record found;
  EXPECT_FALSE(published_.has(1));
  EXPECT_FALSE(published_.find(1, 7, found));
}

// Its server dies before the word that would be one too many.
struct Died {};
struct MortalMemory {
  static inline std::size_t words_left = 0;
  static void live() {
    if (words_left-- == 0) throw Died();
  }
  class Word {
   public:
    explicit Word(std::uint64_t value) : value_(value) {}
    std::uint64_t load(std::memory_order) const { return value_; }
    void store(std::uint64_t value, std::memory_order) {
      live();
      value_ = value;
    }

   private:
    std::uint64_t value_;
  };
  static void copy(void* to, const void* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
      live();
      std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at, sizeof(std::uint64_t));
    }
  }
};

// Of each version, what no other has.
std::array<std::uint64_t, 2> applied_of(Version version) { return {10 * version + 1, 10 * version + 2}; }

SurvivingVersionsIn<MortalMemory>::Record record_of(Version version, std::span<const std::uint64_t> applied) {
  return {version, 10 * version + 3, 10 * version + 4, 10 * version + 5, applied};
}

void expect_whole(const SurvivingVersionsIn<MortalMemory>::Record& found, Version version) {
  EXPECT_EQ(found.version, version);
  EXPECT_EQ(found.value, 10 * version + 3);
  EXPECT_EQ(found.history, 10 * version + 4);
  EXPECT_EQ(found.heard, 10 * version + 5);
  EXPECT_THAT(found.applied, testing::ElementsAreArray(applied_of(version)));
}

// Whoever reads after a death sees all of a record or none of it, before whichever word of it that was; and the one
// before it as well, while no next one is begun.
TEST(PublishedDeathTest, WhoDiesWhileItWritesLeavesWhatWasThere) {
  constexpr Version first = 7, last = 12;
  constexpr std::size_t words = 4 + 2 + 1; // of a record, its contributors' steps and the count
  for (std::size_t lives = 0; lives <= (last - first + 1) * words; ++lives) {
    SCOPED_TRACE(lives);
    alignas(64) std::array<std::byte, 1024> memory{};
    SurvivingVersionsIn<MortalMemory> published(memory, 2);
    published.clear(1);
    MortalMemory::words_left = lives;
    Version whole = first - 1; // the last of which add() came back
    try {
      for (Version version = first; version <= last; ++version) {
        const auto applied = applied_of(version);
        published.add(1, record_of(version, applied));
        whole = version;
      }
    } catch (const Died&) {
    }
    EXPECT_EQ(whole, first - 1 + lives / words) << "a record has other words than this test thinks";
    ASSERT_EQ(published.has(1), whole >= first);
    if (whole < first) continue;
    expect_whole(published.newest(1), whole);
    SurvivingVersionsIn<MortalMemory>::Record found;
    ASSERT_TRUE(published.find(1, whole, found));
    expect_whole(found, whole);
    EXPECT_FALSE(published.find(1, whole + 1, found)) << "it is not whole";
    if (whole == first || lives % words != 0) continue;
    ASSERT_TRUE(published.find(1, whole - 1, found));
    expect_whole(found, whole - 1);
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
