// Places tensors as blocks in one arena; tensors whose lives do not overlap share memory.
#pragma once

#include <cstddef>
#include <vector>

namespace dlhost::program {

struct Block {
  std::size_t bytes = 0;
  int first = 0, last = 0; // the program steps of its life, both included
  std::size_t offset = 0;
};

// Gives every block its offset, largest block first, each at the lowest place that is free for its whole life. Returns
// the arena's size.
std::size_t place(std::vector<Block>& blocks, std::size_t alignment);

// The step with the most bytes alive: a lower bound for any placing.
int fullest(const std::vector<Block>& blocks);
std::size_t alive(const std::vector<Block>& blocks, int step);

} // namespace dlhost::program
