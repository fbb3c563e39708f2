// Host memory that batches are read into: what a device copies from at its full rate, where there is one, else plain.
#pragma once

#include <cstddef>
#include <memory>

#include <dlhost/device.h>
#include <dlhost/host.h>

namespace dlhost::run {

struct FreeBatchMemory {
  Device* device = nullptr; // null: it is plain
  void operator()(std::byte*) const;
};
using BatchMemory = std::unique_ptr<std::byte, FreeBatchMemory>;

BatchMemory batch_memory(std::size_t bytes);
// Of a device, which outlives it. One that has none (any more) is told of in the log, once, and made null: a run goes
// on without.
BatchMemory batch_memory(std::size_t bytes, Device*& device, Log&);

} // namespace dlhost::run
