// Where tensors lie: blocks of one arena, shared by tensors whose lives do not overlap.
#pragma once

#include <cstddef>
#include <vector>

namespace dlhost::program {

struct Block {
  std::size_t bytes = 0;
  int first = 0, last = 0; // the steps of the program between which it lives, both included
  std::size_t offset = 0;
};

// Gives every block its offset, largest first, each at the lowest place that is free for the whole of its life;
// returns the arena's size.
std::size_t place(std::vector<Block>& blocks, std::size_t alignment);

// The step at which most is alive; that much no placing can go below.
int fullest(const std::vector<Block>& blocks);
std::size_t alive(const std::vector<Block>& blocks, int step);

} // namespace dlhost::program
