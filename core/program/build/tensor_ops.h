// The calculations of core between the layers of a step: sums, scaled copies, other forms, zeros. Each function adds a
// call to the steps and returns the slot of its result.
//
// Owns: the ops. A sum's op is prepared once for each form. Thread: one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/build/step_list.h"

namespace dlhost::program {

class TensorOps {
 public:
  // All outlive it.
  TensorOps(Device& device, Slots& slots, StepList& steps) : device_(device), slots_(slots), steps_(steps) {}

  // to + scale * added. Requires: both have one form.
  Result<SlotId> sum(SlotId to, SlotId added, float scale = 1);
  Result<SlotId> scaled(SlotId from, float scale);
  // The slot in the wanted form; `what` names the call in profiles. Without a call if it has that form.
  Result<SlotId> reformed(SlotId from, const TensorDesc& wanted, const char* what);
  // The same into a slot that exists, also without a change of form.
  Status copy(SlotId from, SlotId to, const char* what);
  void zero(SlotId);

  std::vector<std::unique_ptr<Op>> take() { return std::move(ops_); }

 private:
  Result<Op*> adder(const TensorDesc&, bool first);
  SlotId call(Op*, std::vector<SlotId> in, const TensorDesc& out, float scalar, const char* what);

  Device& device_;
  Slots& slots_;
  StepList& steps_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::map<std::string, Op*> adders_;
};

} // namespace dlhost::program
