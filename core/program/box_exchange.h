// The other workers of the group, for a program that computes a part of the net: it lends them tensors, and reads boxes
// of theirs.
//
// A transfer takes a tensor from one form to another, in one frame. All workers number the transfers of a step alike.
// Each has a place of its own in the memory of each worker that lends a box, so no worker waits for room in a step.
// Waits are for earlier transfers in the order of the record, so no workers wait in a circle. Thread: the program's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::program {

// The loans of a step. The same on all workers of the group.
struct LentMemory {
  std::vector<std::size_t> bytes;     // of each worker's memory to lend
  std::vector<std::string> transfers; // in words, such as "the features of layer 'fc6'"

  bool empty() const { return transfers.empty(); }
};

class BoxExchange {
 public:
  virtual ~BoxExchange() = default;
  // Call once, before any memory is made.
  virtual void lay_out(LentMemory) = 0;
  // This worker's memory to lend. Requires: it is made.
  virtual std::span<std::byte> own() = 0;

  // Waits until no worker reads what this one lent in the step before.
  virtual Status begin_step(std::uint64_t step) = 0;
  // This worker's box of the transfer is made: these workers may read it.
  virtual Status lend(std::uint32_t transfer, std::span<const std::uint32_t> to) = 0;
  // Waits for the box that `worker` lends. Returns that worker's memory.
  virtual Result<const std::byte*> wait(std::uint32_t transfer, std::uint32_t worker) = 0;
  // This worker reads that box no more.
  virtual Status give_back(std::uint32_t transfer, std::uint32_t worker) = 0;
};

} // namespace dlhost::program
