// The memory of a program's tensors: an arena on the device, and one on the host if the host cannot reach the device's.
// Owns: the memory. Thread: one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dlhost/device.h>

#include "param/table/shared_params.h"
#include "plugin/faults.h"
#include "program/footprint.h"
#include "program/slots.h"

namespace dlhost::program {

class Arenas {
 public:
  static constexpr std::size_t host_alignment = 64;
  static std::size_t alignment(const Device&);

  // Allocates what the footprint says. The arena on the device is filled with zeros.
  Status make(Device&, Stream&, const Footprint&);
  // Sets the address of each slot. `sharing`: has the contributions of params that are shared; null: none is. `lent`:
  // the memory that the group's other workers read.
  void assign(Slots&, param::SharedParams* sharing, std::span<std::byte> lent);
  // For one op at a time.
  void* scratch() { return scratch_.data(); }

 private:
  Memory arena_, scratch_;
  plugin::FarMemory far_arena_; // the device's memory, for the fault handler
  std::vector<std::byte> host_arena_;
};

} // namespace dlhost::program
