// A device: memory, streams and prepared ops. `cpu`, `cuda`, and `ref`, the oracle.
//
// Memory of a device may lie where the host cannot touch it (Traits::host_memory says); everything that computes goes
// through ops, everything else through copy. Allocation, prepare and stream-making happen before the first step only.
// prepare and allocate may be called from several tasks; a stream belongs to one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dlhost/kind.h>
#include <dlhost/ops.h>
#include <dlhost/peers.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

class HostOp;
struct HostCall;

class DLHOST_API Event {
 public:
  virtual ~Event();
  // Whether all is done that the stream had been given when it recorded this. Asked by one task, again and again.
  // Default: it is, as on a device that is done when run() returns.
  virtual Result<bool> passed();
};

// Work in the order given. On the cpu it is done when run() returns.
class DLHOST_API Stream {
 public:
  virtual ~Stream();
  // Until all work is done; the first error of any of it.
  virtual Status wait() = 0;
  virtual Status record(Event&) = 0;
  virtual Status wait_for(Event&) = 0; // later work waits; the host does not
  // Does the op's compute in its turn, with pointers that the host may follow; the pointers given are the device's. A
  // device that does not compute on the host fails here, which wait() then says.
  virtual void submit(HostOp&, const HostCall&) = 0;
  // What comes between the two is a step that is likely to come again, word for word or nearly. The stream may hold its
  // work back and start it as one whole: at the end, and whenever the host waits, records, copies to or from its own
  // memory or asks for native(). Ops and memory of the step stay until it has ended. Default: nothing is held back.
  virtual void begin_step();
  virtual void end_step();
  // The stream as the device's own library knows it, for kernels of companions: a cudaStream_t. Null: it has none.
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
  // "AMD EPYC, AVX-512 BF16, 2 threads": for people.
  virtual std::string description() const = 0;

  // Of memory that is its own, not the host's: how much there is, and how much of it is free now. None: it is not
  // known.
  struct Room {
    std::uint64_t total = 0, free = 0;
  };
  virtual std::optional<Room> room() const;
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  virtual void release(void*) noexcept = 0;
  // Host memory that the device copies from and to at its full rate, behind the host: aligned to 64 bytes. Not ok:
  // there is none; any other memory serves too, slower. Default: plain memory.
  virtual Result<void*> allocate_host(std::size_t bytes);
  virtual void release_host(void*) noexcept;
  // The same of host memory that somebody else made and other processes may map, until it is unpinned. Not ok: it
  // cannot be; copies take it as any other. Default: there is nothing to do.
  virtual Status pin(void* memory, std::size_t bytes);
  virtual void unpin(void* memory) noexcept;
  virtual Result<std::unique_ptr<Stream>> stream() = 0;
  virtual Result<std::unique_ptr<Event>> event() = 0;
  // Host memory must stay until the stream has passed.
  virtual Status copy(Stream&, void* dst, const void* src, std::size_t bytes, Direction) = 0;
  virtual Status fill_zero(Stream&, void* dst, std::size_t bytes) = 0;

  // The bytes of a tensor as it lies, padding included. Padding is zero and stays zero: a map that makes zero of zero
  // may take a tensor of any format for one plain row of so many bytes.
  virtual std::size_t bytes(const TensorDesc&) const = 0;
  // How many rows of axis 0 lie together: the tensor is a row of such pieces, each of which lies as a tensor of so many
  // rows does, the last perhaps filled up. 0: it does not lie so. Default: what is plain comes apart row by row.
  virtual std::int64_t rows_together(const TensorDesc&) const;
  // A format's name, stable between runs: "aBcd16b". format_named gives it back for a tensor of that shape.
  virtual std::string format_name(const TensorDesc&) const = 0;
  virtual Result<Format> format_named(const TensorDesc& plain, const std::string& name) = 0;

  virtual Result<std::unique_ptr<Op>> prepare(const OpSpec&, const Choice& = {}) = 0;

  // Peers of other tasks, processes and machines, by the devices' own ways: one calls them together, and tells all what
  // it got; each joins with that. They have come when Peers::ready says so. Not ok: there is no such way, and why.
  virtual Result<std::string> convene();
  virtual Result<std::unique_ptr<Peers>> join(const std::string& convened, int rank, int count);
};

// Device memory with an owner.
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
