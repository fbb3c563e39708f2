// The memory of a ref device. Near: the host's. Far: addresses inside a range that nobody may touch; the bytes lie at a
// fixed distance, where ref's ops reach them, so that a host that reads or writes device memory faults at once.
//
// Fresh memory holds NaNs: who reads what was never written will see it. Calls may come from several tasks.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include <dlhost/status.h>

namespace dlhost::plugins::ref {

class Pool {
 public:
  // `most`: bytes that a far one has; 0: as many as the host.
  static Result<std::unique_ptr<Pool>> make(bool far, std::size_t most);
  ~Pool();

  Result<void*> allocate(std::size_t bytes);
  void release(void*) noexcept;

  bool far() const { return shown_ != nullptr; }
  std::size_t free() const; // of a far one that has so many and no more
  // Where the bytes of a device address really lie; null for what is no address of this device.
  void* real(const void* address) const;

 private:
  Pool() = default;

  std::byte* shown_ = nullptr; // far: the range that faults
  std::byte* bytes_ = nullptr; // and the one behind it
  std::size_t most_ = 0;       // 0: no limit
  std::size_t in_use_ = 0;     // far only
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> taken_; // offset and size, far only
};

} // namespace dlhost::plugins::ref
