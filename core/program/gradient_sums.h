// Gradients that several workers' devices add up among themselves: beside the computing, on a stream of their own, and
// small ones together. Used by the task that computes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dlhost/device.h>

#include "param/table/device_sums.h"

namespace dlhost::program {

class Summing {
 public:
  // `most`: rows that are added in a step.
  static Result<std::unique_ptr<Summing>> make(Device&, Stream& computing, param::DeviceSums&, std::size_t most);

  // What the computing stream has been given makes it; all workers add the same rows in the same order. It must not be
  // touched before finish().
  Status add(void* values, std::int64_t count);
  // Until the sums of all that was added are there.
  Status finish();
  // The step ends in an error: no stream is left waiting for what will not come.
  void give_up() noexcept;

 private:
  Summing(Stream& computing, param::DeviceSums& others) : computing_(computing), others_(others) {}
  Status start();
  Status until_computed();

  Stream& computing_;
  param::DeviceSums& others_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> made_, summed_;
  std::vector<Peers::Row> rows_; // that are not under way
  std::int64_t elements_ = 0;    // of these
  bool under_way_ = false;
};

} // namespace dlhost::program
