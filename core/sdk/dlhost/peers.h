// Peers: those who compute on devices of one kind and sum among themselves what lies there. The workers that hold the
// parts of a layer are such peers, and so are workers whose params stay on their devices.
#pragma once

#include <cstdint>
#include <span>

#include <dlhost/status.h>
#include <dlhost/visibility.h>

namespace dlhost {

class Stream;

// Calls are collective: every peer makes the same ones, with the same counts, in the same order. They are work of the
// stream as an op is: the host waits for nobody, and what goes wrong comes back from Stream::wait. All values are plain
// f32 in the device's memory, and become the same bits on every peer.
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
  // The same of several rows at once, which is quicker than one by one. Default: one by one.
  virtual void sum_rows(Stream&, std::span<const Row>);
  // Whether all have come, and what was asked for has been given to its stream: asked until it is so, before more is
  // asked for and before the stream is given anything else. Default: it is.
  virtual Result<bool> ready();
  // One of them is gone: what waits for it ends, and leaves any values. There are no sums afterwards. Default: nothing.
  virtual void abandon() noexcept;
};

} // namespace dlhost
