// A device: memory, streams and prepared ops. Examples: `cpu`, `cuda`, and `ref`, the oracle.
//
// The host may be unable to touch a device's memory (Traits::host_memory). Ops do all computing; copies go through
// copy(). Allocation, prepare and making streams happen only before the first step. Thread: prepare and allocate may be
// called from several tasks; a stream belongs to one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dlhost/kind.h>
#include <dlhost/ops.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

class HostOp;
struct HostCall;
class Peers;

class DLHOST_API Event {
 public:
  virtual ~Event();
  // Whether all work is done that was queued on the stream before it recorded this event. One task asks repeatedly.
  // Default: true, for devices whose work is done when run() returns.
  virtual Result<bool> passed();
};

// Runs work in the order given. On the cpu it is done when run() returns.
class DLHOST_API Stream {
 public:
  virtual ~Stream();
  // Waits until all work is done; returns the first error.
  virtual Status wait() = 0;
  virtual Status record(Event&) = 0;
  virtual Status wait_for(Event&) = 0; // later work waits; the host does not
  // Runs op.compute() in the stream's order, with pointers that the host may follow; the given pointers are the
  // device's. A device that does not compute on the host fails here; wait() returns the error.
  virtual void submit(HostOp&, const HostCall&) = 0;
  // The calls between the two are a step that will probably repeat with the same ops. The stream may hold its work back
  // and start it as one whole: at the end, and whenever the host waits, records, copies from or to its own memory, or
  // calls native(). Requires: the step's ops and memory stay until it has ended. Default: nothing is held back.
  virtual void begin_step();
  virtual void end_step();
  // The stream of the device's own library, for companions' kernels: a cudaStream_t. Null: none.
  virtual void* native();
};

enum class Direction : std::uint8_t { within, to_host, from_host };

class DLHOST_API Device : public Plugin {
 public:
  static constexpr Kind kind = Kind::device;

  struct Traits {
    bool host_memory = true;   // the host may read and write its memory
    bool asynchronous = false; // streams run behind the host
    std::size_t alignment = 64;
  };

  virtual Traits traits() const = 0;
  // For people: "AMD EPYC, AVX-512 BF16, 2 threads".
  virtual std::string description() const = 0;

  // Total and free bytes of the device's own memory. None: unknown, or the host's memory.
  struct Room {
    std::uint64_t total = 0, free = 0;
  };
  virtual std::optional<Room> room() const;
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  virtual void release(void*) noexcept = 0;
  // Host memory for copies at full rate, behind the host; aligned to 64 bytes. Errors: there is none; other memory
  // works too, slower. Default: plain memory.
  virtual Result<void*> allocate_host(std::size_t bytes);
  virtual void release_host(void*) noexcept;
  // The same for existing host memory, which other processes may map, until unpin(). Errors: impossible; copies then
  // treat it like other memory. Default: does nothing.
  virtual Status pin(void* memory, std::size_t bytes);
  virtual void unpin(void* memory) noexcept;
  virtual Result<std::unique_ptr<Stream>> stream() = 0;
  virtual Result<std::unique_ptr<Event>> event() = 0;
  // Requires: host memory stays until the stream has passed.
  virtual Status copy(Stream&, void* dst, const void* src, std::size_t bytes, Direction) = 0;
  virtual Status fill_zero(Stream&, void* dst, std::size_t bytes) = 0;

  // The bytes of a tensor in its format, including padding. Padding is zero and stays zero: a map that turns zeros into
  // zeros may treat a tensor of any format as one plain row of so many bytes.
  virtual std::size_t bytes(const TensorDesc&) const = 0;
  // The number of rows of axis 0 in a piece, if the tensor is a sequence of pieces that each lie like a tensor of so
  // many rows; the last may be padded. 0: the format is not such a sequence. Default: a plain tensor has pieces of one
  // row.
  virtual std::int64_t rows_together(const TensorDesc&) const;
  // A format's name, stable between runs: "aBcd16b". format_named() is the inverse for a tensor of that shape.
  virtual std::string format_name(const TensorDesc&) const = 0;
  virtual Result<Format> format_named(const TensorDesc& plain, const std::string& name) = 0;

  virtual Result<std::unique_ptr<Op>> prepare(const OpSpec&, const Choice& = {}) = 0;

  // Connects peers (dlhost/partition.h) of other tasks, processes and machines through the devices' own means. One peer
  // calls convene() and sends the result to all; each joins with it. The peers are connected when Peers::ready returns
  // true. Errors: no such means, and why.
  virtual Result<std::string> convene();
  virtual Result<std::unique_ptr<Peers>> join(const std::string& convened, int rank, int count);
};

// Owns device memory.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> make(Device& device, std::size_t bytes) {
    DLHOST_ASSIGN(void* data, device.allocate(bytes));
    return Memory(device, data, bytes);
  }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Memory() {
    if (data_) device_->release(data_);
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return size_; }

 private:
  Memory(Device& device, void* data, std::size_t size) : device_(&device), data_(data), size_(size) {}
  void swap(Memory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace dlhost
