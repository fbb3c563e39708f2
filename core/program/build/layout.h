// The third pass of a build: gives each slot its place. The life of each tensor is known, so tensors with disjoint
// lives share memory, and a result takes the place of an operand where it can.
//
// Output: the offsets of the slots in the arenas, and the memory that the program needs. Thread: one.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "program/build/expansion.h"
#include "program/build/placing.h"
#include "program/footprint.h"

namespace dlhost::program {

class Layout {
 public:
  // All outlive it.
  Layout(const Device& device, Slots& slots) : device_(device), slots_(slots) {}

  // Places all slots. `steps`: the number of the program's steps.
  void place(const std::vector<Replacement>&, int steps);
  // The memory of the program. Requires: place(), and the store has laid out its params.
  Footprint footprint(const std::vector<Unit>&, const std::vector<Link>&, const ExpandedSteps&,
                      const param::Store&) const;

 private:
  void join_lives();
  void reuse_in_place(const std::vector<Replacement>&);
  void note_activations(std::vector<Footprint::Part>&, const UnitFrames&) const;
  std::size_t param_gradients(const UnitFrames&) const;

  const Device& device_;
  Slots& slots_;
  std::vector<std::pair<SlotId, Block>> placed_; // in the device's arena
  std::size_t arena_ = 0, host_ = 0;
};

} // namespace dlhost::program
