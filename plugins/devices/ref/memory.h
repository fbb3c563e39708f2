// The memory of a ref device. Near: the host's. Far: addresses in a range without access; the bytes are at a fixed
// distance, which only ref's ops use. A host that reads or writes device memory faults at once.
//
// Fresh memory holds NaNs, so reads of unwritten memory show.
// Thread: several tasks may call.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include <dlhost/status.h>

namespace dlhost::plugins::ref {

class Pool {
 public:
  // `most`: bytes of far memory; 0: no limit.
  static Result<std::unique_ptr<Pool>> make(bool far, std::size_t most);
  ~Pool();

  Result<void*> allocate(std::size_t bytes);
  void release(void*) noexcept;

  bool far() const { return shown_ != nullptr; }
  std::size_t free() const; // of a far pool with a limit
  // The real address of a device address; null: no address of this device.
  void* real(const void* address) const;

 private:
  Pool() = default;

  std::byte* shown_ = nullptr; // far: the range that faults
  std::byte* bytes_ = nullptr; // and the range with the bytes
  std::size_t most_ = 0;       // 0: no limit
  std::size_t in_use_ = 0;     // far only
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> taken_; // offset and size, far only
};

} // namespace dlhost::plugins::ref
