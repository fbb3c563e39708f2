// The batches of a program: puts the address of each output of a source where layers and calls read it. Owns: the
// places of these addresses. Thread: the program's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/step.h"

namespace dlhost::program {

// The batch of a step from the feeder: for each source its outputs in host memory, and on the device those that the
// program takes there.
struct BatchView {
  struct SourceBatch {
    std::size_t node = 0;
    std::vector<void*> outputs;
    std::span<void* const> delivered; // null: that output is not taken on the device; empty: none is
    Event* arrived = nullptr;         // all of `delivered` has arrived
  };
  std::vector<SourceBatch> sources;
  std::span<const std::uint32_t> samples;
  std::int64_t valid = 0;
};

class SourceFeeds {
 public:
  struct Frames {
    int frames = 1;
    bool cut = false;                     // each frame gets its part of the batch
    std::int64_t first_row = 0, rows = 0; // of a frame's batch that the feeder reads
  };
  // Units' frames and calls outlive it. Requires: their pointers are set, except those to the feeder's memory.
  void find(const std::vector<Unit>&, UnitFrames&, std::vector<Call>&, const Slots&, const Frames&);

  // Sets all addresses for this batch.
  void bind(const BatchView&, Slots&);
  // Signals that the batch of a source is on the device.
  Event& arrived(std::size_t node) const { return *arrived_[node]; }

 private:
  // An output of a source in a frame.
  struct Feed {
    std::size_t node = 0, output = 0;
    SlotId slot = no_slot;
    bool delivered = false; // from the device copy, not the feeder's memory
    std::size_t offset = 0; // of the frame's rows in the batch
    std::vector<const void**> readers;
  };
  std::vector<Feed> feeds_;
  std::vector<Event*> arrived_; // by node, for this step's batch
};

} // namespace dlhost::program
