// Host memory for batches: pinned by the device for transfers at full rate if there is one, else plain.
#pragma once

#include <cstddef>
#include <memory>

#include <dlhost/device.h>
#include <dlhost/host.h>

namespace dlhost::run {

struct FreeBatchMemory {
  Device* device = nullptr; // null: plain memory
  void operator()(std::byte*) const;
};
using BatchMemory = std::unique_ptr<std::byte, FreeBatchMemory>;

BatchMemory batch_memory(std::size_t bytes);
// Requires: the device outlives the memory. If the device has no such memory (any more), it logs one warning, sets
// `device` to null and returns plain memory.
BatchMemory batch_memory(std::size_t bytes, Device*& device, Log&);

} // namespace dlhost::run
