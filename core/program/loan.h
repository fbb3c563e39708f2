// Tensors that workers of a group lend each other (box_exchange.h), as one worker's program does it. A transfer is a
// loan of each worker that has boxes to give, and a borrowing of each that wants some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dlhost/device.h>

#include "program/slots.h"

namespace dlhost::program {

struct Loan {
  std::uint32_t transfer = 0; // the same number on all workers
  SlotId slot = no_slot;
  std::vector<std::uint32_t> to;
};

struct Borrowing {
  std::uint32_t transfer = 0;
  SlotId own = no_slot; // this worker's box before, with a place of its own; no_slot: it has none
  SlotId to = no_slot;  // and after
  // In the order in which boxes are copied or added, so that sums have the same bits on all workers.
  struct Box {
    std::uint32_t worker = 0;
    std::size_t place = no_place; // in that worker's memory; none: it is in this worker's `own`
    bool last = true;             // that it has for this one
    Op* op = nullptr;             // copies or adds it

    static constexpr std::size_t no_place = ~std::size_t{0};
    bool is_own() const { return place == no_place; }
  };
  std::vector<Box> boxes;
};

} // namespace dlhost::program
