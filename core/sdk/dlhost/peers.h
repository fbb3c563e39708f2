// Peers: workers on devices of one kind that sum values in device memory among themselves. The workers that hold the
// parts of a layer are peers; so are workers whose params stay on their devices.
#pragma once

#include <cstdint>
#include <span>

#include <dlhost/status.h>
#include <dlhost/visibility.h>

namespace dlhost {

class Stream;

// Calls are collective: every peer makes the same ones, with the same counts, in the same order. They are queued on the
// stream like ops: the host does not wait, and errors come back from Stream::wait. All values are plain f32 in the
// device's memory; all peers get the same bits.
class DLHOST_API Peers {
 public:
  struct Row {
    void* values = nullptr;
    std::int64_t count = 0;
  };
  virtual ~Peers();
  virtual int rank() const = 0;
  virtual int count() const = 0;
  virtual void sum(Stream&, void* values, std::int64_t count) = 0;
  virtual void maximum(Stream&, void* values, std::int64_t count) = 0;
  // Sums several rows at once, which is faster than one by one. Default: one by one.
  virtual void sum_rows(Stream&, std::span<const Row>);
  // Whether all peers are connected and earlier calls are queued on their stream. Ask until true before making more
  // calls and before giving the stream other work. Default: true.
  virtual Result<bool> ready();
  // A peer is gone: calls that wait for it end with arbitrary values. No sums afterwards. Default: does nothing.
  virtual void abandon() noexcept;
};

} // namespace dlhost
