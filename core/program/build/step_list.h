// The steps of a program while they are made, in their order, with the calls that core itself makes. A step that is
// added extends the lives of the slots that it touches.
//
// Owns: the steps, the calls, and the candidates for reuse in place, which the layout decides on. Thread: one.
#pragma once

#include <vector>

#include "program/step.h"

namespace dlhost::program {

// The step may write its result in the place of an operand, if it is the operand's last reader.
struct Replacement {
  SlotId written = no_slot, read = no_slot;
  int step = 0;
};

class StepList {
 public:
  // `slots` outlives it.
  explicit StepList(Slots& slots) : slots_(slots) {}

  // The next step touches these slots.
  void touch(SlotId slot) { slots_.touch(slot, next()); }
  void touch(const std::vector<SlotId>& slots) {
    for (const SlotId slot : slots) touch(slot);
  }
  // The next step may write `written` in the place of `read`. No effect if one of them is no_slot.
  void may_replace(SlotId written, SlotId read);
  void push(const Step& step) { steps_.push_back(step); }
  // Adds a step for the call, which touches the call's slots.
  void push(Call);

  const std::vector<Step>& steps() const { return steps_; }
  std::vector<Step> take_steps() { return std::move(steps_); }
  std::vector<Call> take_calls() { return std::move(calls_); }
  std::vector<Replacement> take_replacements() { return std::move(replacements_); }

 private:
  int next() const { return static_cast<int>(steps_.size()); }

  Slots& slots_;
  std::vector<Step> steps_;
  std::vector<Call> calls_;
  std::vector<Replacement> replacements_;
};

} // namespace dlhost::program
