// The steps of a program: a list, with the calls and the frames of units that the steps refer to by index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/layer.h>

#include "program/unit.h"

namespace dlhost::program {

class HostCopies;

enum class Act : std::uint8_t { arrive, feature, gradient, call, lend, borrow, collect, update, check_losses };

struct Step {
  Act act = Act::feature;
  Wanted wanted = Wanted::both;
  std::uint32_t sweep = 0;
  std::uint32_t index = 0; // of the source's node, frame, call, loan, borrowing, unit or update
  std::uint32_t frame = 0;
  SlotId gradient = no_slot; // for an update
  bool settles = false;      // it reads params updated earlier in the same step
};

// A conversion, addition or copy that core makes.
struct Call {
  Op* op = nullptr; // null: a copy, or zeros without an input
  std::vector<SlotId> in;
  SlotId out = no_slot;
  Direction direction = Direction::within;
  bool leaves = false;          // for other workers
  HostCopies* beside = nullptr; // makes it beside the computing; null: the computing stream does
  std::size_t bytes = 0;
  float scalar = 1;
  const char* what = "";
  std::vector<const void*> inputs;
  void* output = nullptr;
};

// The pointers of one unit in one frame. `frame` has spans of these vectors.
struct UnitFrame {
  std::size_t unit = 0;
  std::vector<SlotId> input_slots, output_slots, output_gradient_slots, input_gradient_slots, param_gradient_slots,
      buffer_slots;
  std::vector<const void*> inputs, output_gradients, params;
  std::vector<void*> outputs, input_gradients, param_gradients, buffers;
  Frame frame;
};

// Sets the pointers of a unit in its frame of that number. Requires: the slots have addresses.
void point(UnitFrame&, const Unit&, int frame, const Slots&);
void point(Call&, const Slots&);

// The frames of all units: a unit's frames are neighbours.
class UnitFrames {
 public:
  UnitFrames(std::size_t units, int frames)
      : frames_(static_cast<std::size_t>(frames)), all_(units * static_cast<std::size_t>(frames)) {}

  std::size_t index(std::size_t unit, int frame) const { return unit * frames_ + static_cast<std::size_t>(frame); }
  UnitFrame& at(std::size_t unit, int frame) { return all_[index(unit, frame)]; }
  const UnitFrame& at(std::size_t unit, int frame) const { return all_[index(unit, frame)]; }
  std::span<UnitFrame> of(std::size_t unit) { return std::span(all_).subspan(unit * frames_, frames_); }
  UnitFrame& operator[](std::size_t index) { return all_[index]; }
  const UnitFrame& operator[](std::size_t index) const { return all_[index]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::size_t frames_;
  std::vector<UnitFrame> all_;
};

} // namespace dlhost::program
