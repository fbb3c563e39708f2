// Shared memory that a device can copy at its full rate. It is unpinned by the destructor.
#pragma once

#include <span>
#include <utility>

#include <dlhost/device.h>

namespace dlhost::run {

class Pinned {
 public:
  static Result<Pinned> make(Device& device, std::span<std::byte> memory) {
    DLHOST_TRY(device.pin(memory.data(), memory.size()));
    return Pinned(device, memory.data());
  }
  Pinned(Pinned&& other) noexcept : device_(std::exchange(other.device_, nullptr)), memory_(other.memory_) {}
  Pinned& operator=(Pinned&& other) = delete;
  ~Pinned() {
    if (device_) device_->unpin(memory_);
  }

 private:
  Pinned(Device& device, void* memory) : device_(&device), memory_(memory) {}
  Device* device_;
  void* memory_;
};

} // namespace dlhost::run
