// Drawn blocks, against the definition: brute force over all pairs, steps and places.
#include "program/build/placing.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>

namespace dlhost::program {
namespace {

constexpr std::size_t alignment = 8;

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
bool meet(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }
bool overlap(const Block& a, std::size_t offset, const Block& b) {
  return offset < b.offset + rounded(b.bytes) && b.offset < offset + rounded(a.bytes);
}

std::vector<Block> drawn(std::mt19937& draws) {
  std::vector<Block> blocks(1 + draws() % 10);
  for (Block& block : blocks) {
    block.bytes = 1 + draws() % 60;
    block.first = static_cast<int>(draws() % 8);
    block.last = block.first + static_cast<int>(draws() % 4);
  }
  return blocks;
}

TEST(Memory, BlocksThatLiveAtOnceNeverOverlap) {
  std::mt19937 draws(1);
  for (int n = 0; n < 3000; ++n) {
    auto blocks = drawn(draws);
    const std::size_t size = place(blocks, alignment);
    std::size_t end = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_EQ(blocks[i].offset % alignment, 0U) << "in case " << n;
      end = std::max(end, blocks[i].offset + rounded(blocks[i].bytes));
      for (std::size_t k = 0; k < i; ++k)
        ASSERT_FALSE(meet(blocks[i], blocks[k]) && overlap(blocks[i], blocks[i].offset, blocks[k])) << "in case " << n;
    }
    ASSERT_EQ(size, end) << "in case " << n;
    ASSERT_GE(size, alive(blocks, fullest(blocks))) << "in case " << n;
  }
}

// Of the blocks that are at least as large, placed before it.
TEST(Memory, EachBlockIsAtTheLowestPlaceThatIsFree) {
  std::mt19937 draws(2);
  for (int n = 0; n < 1000; ++n) {
    auto blocks = drawn(draws);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].bytes = blocks[i].bytes * 16 + i; // no two are equal
    place(blocks, alignment);
    for (const Block& block : blocks)
      for (std::size_t lower = 0; lower < block.offset; lower += alignment)
        ASSERT_TRUE(std::ranges::any_of(blocks,
                                        [&](const Block& other) {
                                          return other.bytes > block.bytes && meet(block, other) &&
                                                 overlap(block, lower, other);
                                        }))
            << "in case " << n << ", at " << lower;
  }
}

TEST(Memory, BlocksThatNeverMeetShare) {
  std::mt19937 draws(3);
  for (int n = 0; n < 300; ++n) {
    auto blocks = drawn(draws);
    int step = 0;
    std::size_t largest = 0;
    for (Block& block : blocks) {
      const int length = block.last - block.first;
      block.first = step;
      block.last = step + length;
      step = block.last + 1;
      largest = std::max(largest, rounded(block.bytes));
    }
    std::ranges::shuffle(blocks, draws);
    ASSERT_EQ(place(blocks, alignment), largest) << "in case " << n;
    for (const Block& block : blocks) ASSERT_EQ(block.offset, 0U) << "in case " << n;
  }
}

TEST(Memory, TheFullestStepIsThatWithTheMostBytes) {
  std::mt19937 draws(4);
  for (int n = 0; n < 1000; ++n) {
    const auto blocks = drawn(draws);
    std::size_t most = 0;
    for (int step = 0; step < 12; ++step) {
      std::size_t bytes = 0;
      for (const Block& block : blocks) bytes += block.first <= step && step <= block.last ? block.bytes : 0;
      ASSERT_EQ(alive(blocks, step), bytes) << "in case " << n;
      most = std::max(most, bytes);
    }
    ASSERT_EQ(alive(blocks, fullest(blocks)), most) << "in case " << n;
  }
  std::vector<Block> none;
  EXPECT_EQ(place(none, alignment), 0U);
}

} // namespace
} // namespace dlhost::program
