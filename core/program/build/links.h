// Converts tensors between layers that use different forms: a reorder on the device, or a copy between host and device.
// Each conversion of a tensor is made once, for all its readers. Owns: the links. Thread: one.
#pragma once

#include <vector>

#include "program/unit.h"

namespace dlhost::program {

class Links {
 public:
  // `training`: floats get a backward op too, for gradients.
  Links(Device& device, Slots& slots, bool training) : device_(device), slots_(slots), training_(training) {}

  // The slot with the content of `from` in the wanted form, on the wanted side; makes links if necessary.
  Result<SlotId> to(SlotId from, const TensorDesc& wanted, bool on_host);
  const std::vector<Link>& all() const { return all_; }
  std::vector<Link> take() { return std::move(all_); }

 private:
  SlotId find(SlotId from, const TensorDesc& wanted, bool on_host) const;
  Result<SlotId> reordered(SlotId from, const TensorDesc& wanted);
  SlotId copied(SlotId from, Direction);

  Device& device_;
  Slots& slots_;
  const bool training_;
  std::vector<Link> all_;
};

} // namespace dlhost::program
