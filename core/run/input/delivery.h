// Delivers a source's batches to a device whose memory the host cannot reach: each a step ahead, while the device
// computes, if it is read by then. One task - the worker's - calls it; the feeder, which nobody else asks for batches,
// the device and the stream that computes outlive it. A step allocates nothing.
//
// A batch lies in one of two stagings on the device, in turn, each with a stream of its own for its copies:
//
//   who waits          until                                          because
//   the computation    `arrived`, recorded behind the copies          it reads them
//   a staging's stream `passed`, recorded behind the step that read   the next batch is put there
//   the host           the staging's stream has passed                the feeder reads another batch into what was
//   copied
//
// The host waits for copies that were begun two steps ago, which are done as a rule, and for a reader only when the
// batch is that of this step.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dlhost/device.h>

#include "run/input/feeder.h"

namespace dlhost::run {

class Delivery {
 public:
  // Batches that the feeder has to hold (FeederSpec::held): that of this step, and the next one.
  static constexpr int held = 2;

  // `wanted`: which outputs of the source. Fails where the device has no room.
  static Result<std::unique_ptr<Delivery>> make(Device&, Stream& computation, Feeder&, const std::vector<bool>& wanted);
  ~Delivery();
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  struct Load {
    const Batch* batch = nullptr;
    std::vector<void*> outputs; // on the device; null: not wanted there
    Event* arrived = nullptr;   // to be waited for before they are read
  };
  // The batch of the next step. Its outputs are read by what is given to the computation's stream before the next call,
  // and by nothing after that. Not ok: as Feeder::next(), or what the device says.
  Result<const Load*> next();
  // Before the feeder is sent elsewhere: what was brought ahead is thrown away, and nothing is copied any more.
  Status halt();

 private:
  struct Staging {
    Load load;
    std::vector<Memory> memory; // of each wanted output
    std::unique_ptr<Event> arrived, passed;
    std::unique_ptr<Stream> stream;
  };

  Delivery(Device& device, Stream& computation, Feeder& feeder)
      : device_(device), computation_(computation), feeder_(feeder) {}
  Staging& staging(std::uint64_t batch) { return stagings_[batch % stagings_.size()]; }
  Status bring();
  Status let_pass();

  Device& device_;
  Stream& computation_;
  Feeder& feeder_;
  std::array<Staging, held> stagings_;
  std::uint64_t brought_ = 0, given_ = 0; // batches, since halt()
};

} // namespace dlhost::run
