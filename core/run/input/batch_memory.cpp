#include "run/input/batch_memory.h"

#include <algorithm>
#include <new>

namespace dlhost::run {

namespace {
constexpr std::align_val_t batch_alignment{64};
} // namespace

void FreeBatchMemory::operator()(std::byte* memory) const {
  if (device)
    device->release_host(memory);
  else
    ::operator delete(memory, batch_alignment);
}

BatchMemory batch_memory(std::size_t bytes) {
  return {static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), batch_alignment)), {}};
}

BatchMemory batch_memory(std::size_t bytes, Device*& device, Log& log) {
  if (!device) return batch_memory(bytes);
  auto made = device->allocate_host(std::max<std::size_t>(bytes, 1));
  if (made.ok()) return {static_cast<std::byte*>(*made), {device}};
  device = nullptr;
  log.write(LogLevel::warning, concat("batches are copied from plain memory, and slower: ", made.status().message()));
  return batch_memory(bytes);
}

} // namespace dlhost::run
