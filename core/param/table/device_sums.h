// The other workers, for a program whose params stay on its own device. All workers begin with the same values and make
// the same update from the sum of all gradients, which their devices compute among themselves.
#pragma once

#include <functional>

#include <dlhost/partition.h>

#include "param/store/store.h"

namespace dlhost::param {

class DeviceSums {
 public:
  virtual ~DeviceSums() = default;
  // Requires: the store is laid out, and nothing is allocated.
  virtual Status open(Store&) = 0;
  // Requires: the first step has begun.
  virtual Peers& peers() = 0;
  // Serves the messages that wait for this worker. Called between two ops.
  virtual Status progress() = 0;
  // Waits until done() returns true, and serves other workers meanwhile. Errors: a worker is gone or reported the end.
  virtual Status wait_for_device(const std::function<Result<bool>()>& done) = 0;
};

} // namespace dlhost::param
