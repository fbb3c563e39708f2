// Runs a device's ops: tensors with guards around them, values copied in and out. Errors of memory, copies and streams
// throw, and fail the test.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <dlhost/device.h>

#include "values.h"

namespace dlhost::conform {

// Device memory between two guards, which must not be written or read; only the address sanitizer detects reads.
struct Guarded {
  Memory memory;
  std::size_t offset = 0, size = 0;
  std::byte* data() const { return memory.data() + offset; }
};

struct Held {
  TensorDesc desc;
  Guarded memory;
};

// Returns the value; throws an error's message.
template <class T> T need(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return *std::move(result);
}
void need(const Status&);

class Lab {
 public:
  explicit Lab(Device&);

  Device& device() { return device_; }
  Stream& stream() { return *stream_; }

  // Allocates `bytes` bytes of 0xff: NaN in any float type.
  Guarded room(std::size_t bytes);
  Held blank(const TensorDesc& desc) { return {desc, room(device_.bytes(desc))}; }
  // A tensor of the values, converted to its dtype and format by the device's reorder.
  Held put(const TensorDesc&, const Values&);
  Values get(const Held&);
  std::vector<std::byte> raw(const Guarded&);
  bool intact(const Guarded&);

  // Runs an op once, with scratch between checked guards, and waits.
  Status run(Op&, std::span<const void* const> in, std::span<void* const> out, const Dynamic& = {});

 private:
  void write(void* to, const std::vector<std::byte>& bytes);
  std::vector<std::byte> read(const void* from, std::size_t bytes);
  void forbid_guards(const Guarded&);
  void allow_guards(const Guarded&);

  Device& device_;
  std::unique_ptr<Stream> stream_;
};

} // namespace dlhost::conform
