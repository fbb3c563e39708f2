// The contributions of a program whose params are shared with other workers: gradients, and the factors of gradients,
// in the memory from which servers read them. Device memory that the host cannot reach is copied to it. Thread: one.
#pragma once

#include "program/build/tensor_ops.h"

namespace dlhost::program {

class Contributions {
 public:
  struct Setup {
    // Servers cannot read the memory in which the program computes.
    bool apart = false;
    // A copy may last until the step ends, because it is made beside the computing.
    bool beside = false;
  };
  // All outlive it.
  Contributions(Setup setup, Slots& slots, StepList& steps, TensorOps& ops)
      : setup_(setup), slots_(slots), steps_(steps), ops_(ops) {}

  // Contributes a gradient, at this offset of the param's contribution. Returns the slot that servers read: the
  // gradient's, or that of a copy.
  SlotId add(SlotId gradient, const param::Param&, std::size_t at);
  // Contributes a factor, at this offset of the param's contribution, in the wanted form.
  Result<SlotId> add_factor(SlotId, const TensorDesc& wanted, const param::Param&, std::size_t at);

 private:
  SlotId left_on_host(SlotId from, const param::Param&, std::size_t at);
  void share(SlotId, const param::Param&, std::size_t at);

  const Setup setup_;
  Slots& slots_;
  StepList& steps_;
  TensorOps& ops_;
};

} // namespace dlhost::program
