// The other workers, as a program sees them whose params are its own and stay where it computes: all begin with the
// same values, and make the same update of the sum of all gradients, which their devices make among themselves.
#pragma once

#include <functional>

#include <dlhost/peers.h>

#include "param/store/store.h"

namespace dlhost::param {

class DeviceSums {
 public:
  virtual ~DeviceSums() = default;
  // All is laid out and nothing is made.
  virtual Status open(Store&) = 0;
  // From the first step on.
  virtual Peers& peers() = 0;
  // Between two ops: whatever waits for this worker.
  virtual Status progress() = 0;
  // Until that is so, which only the device can know; the others are heard meanwhile. Not ok: it will not be, since one
  // of them is gone, or has said that it is over.
  virtual Status wait_for_device(const std::function<Result<bool>()>& done) = 0;
};

} // namespace dlhost::param
