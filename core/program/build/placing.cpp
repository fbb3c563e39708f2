#include "program/build/placing.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

namespace dlhost::program {

std::size_t place(std::vector<Block>& blocks, std::size_t alignment) {
  const auto rounded = [&](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::vector<std::size_t> by_size(blocks.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::stable_sort(by_size, std::greater<>{}, [&](std::size_t i) { return blocks[i].bytes; });

  std::vector<const Block*> placed; // by offset
  std::size_t size = 0;
  for (auto index : by_size) {
    Block& block = blocks[index];
    block.offset = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (block.offset + rounded(block.bytes) <= other->offset) break;
      block.offset = std::max(block.offset, other->offset + rounded(other->bytes));
    }
    size = std::max(size, block.offset + rounded(block.bytes));
    placed.insert(std::ranges::upper_bound(placed, block.offset, {}, [](const Block* b) { return b->offset; }), &block);
  }
  return size;
}

std::size_t alive(const std::vector<Block>& blocks, int step) {
  std::size_t sum = 0;
  for (const Block& block : blocks)
    if (block.first <= step && step <= block.last) sum += block.bytes;
  return sum;
}

int fullest(const std::vector<Block>& blocks) {
  std::map<int, std::int64_t> changes; // bytes alive, by step
  for (const Block& block : blocks) {
    changes[block.first] += static_cast<std::int64_t>(block.bytes);
    changes[block.last + 1] -= static_cast<std::int64_t>(block.bytes);
  }
  std::int64_t now = 0, most = -1;
  int at = 0;
  for (const auto& [step, change] : changes)
    if ((now += change) > most) {
      most = now;
      at = step;
    }
  return at;
}

} // namespace dlhost::program
