// Sums gradients among several workers' devices: beside the computing, on a separate stream, small ones together.
// Thread: the computing task.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dlhost/device.h>

#include "param/table/device_sums.h"

namespace dlhost::program {

class GradientSums {
 public:
  // `most`: the number of add() calls in a step.
  static Result<std::unique_ptr<GradientSums>> make(Device&, Stream& computing, param::DeviceSums&, std::size_t most);

  // `values`: written by work that is queued on the computing stream; not to be touched before finish(). Requires: all
  // workers add the same rows in the same order.
  Status add(void* values, std::int64_t count);
  // Waits for all sums.
  Status finish();
  // The step failed: no stream may wait for sums that never come.
  void give_up() noexcept;

 private:
  GradientSums(Stream& computing, param::DeviceSums& others) : computing_(computing), others_(others) {}
  Status start();
  Status until_computed();

  Stream& computing_;
  param::DeviceSums& others_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> made_, summed_;
  std::vector<Peers::Row> rows_; // not started yet
  std::int64_t elements_ = 0;    // in rows_
  bool under_way_ = false;
};

} // namespace dlhost::program
