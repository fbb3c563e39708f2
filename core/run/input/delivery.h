// Delivers a source's batches to a device whose memory the host cannot reach. Each batch is copied one step ahead,
// while the device computes, if it has been read by then. A step allocates nothing.
// Thread: the worker's task.
// Owns: nothing; the feeder, the device and the computing stream outlive it. Only it calls next() of the feeder.
//
// A batch lies in one of two stagings on the device, in turn. Each staging has a stream for its copies:
//
//   waiting task       until                                         reason
//   the computation    `arrived`, recorded after the copies          it reads them
//   a staging's stream `passed`, recorded after the step that read   the next batch overwrites them
//   the host           the staging's stream is done                  the feeder overwrites the copied batch
//
// The host waits for copies that began two steps ago, which are usually done. It waits for a reader only if this step's
// batch is not read yet.
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
  // Batches that the feeder has to hold (FeederSpec::held): this step's and the next.
  static constexpr int held = 2;

  // `wanted`: outputs of the source to deliver. Errors: the device has no room.
  static Result<std::unique_ptr<Delivery>> make(Device&, Stream& computation, Feeder&, const std::vector<bool>& wanted);
  ~Delivery();
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  struct Load {
    const Batch* batch = nullptr;
    std::vector<void*> outputs; // on the device; null: not wanted
    Event* arrived = nullptr;   // wait for it before reading the outputs
  };
  // The batch of the next step. Only ops given to the computing stream before the next call may read its outputs.
  // Errors: those of Feeder::next(), and those of the device.
  Result<const Load*> next();
  // Drops the batches brought ahead and waits for all copies. Required before the feeder seeks.
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
