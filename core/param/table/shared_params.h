// How a program that is one of several shares its params with the others. With one worker there is none, and the
// program updates its params itself.
#pragma once

#include <optional>

#include "param/file/checkpoint.h"
#include "param/store/store.h"

namespace dlhost::param {

class SharedParams {
 public:
  virtual ~SharedParams() = default;
  // What is shared of a store that is laid out: by this worker, and by all together; and what of one worker's own goes
  // into a file of a checkpoint, in plain f32.
  struct Bytes {
    std::size_t own = 0, common = 0, saved = 0;
    std::size_t summed = 0; // what servers decode or fold into, which nobody else sees, in all
  };
  virtual Bytes bytes(const Store&) const = 0;
  // All is laid out and nothing is made: takes its share, and lends the store what is common.
  virtual Status open(Store&) = 0;
  // Of a param whose gradient in this program is the product of `own`: what all workers leave for one another in its
  // place, with as many rows as any of them has. None: the gradient itself.
  virtual std::optional<Factors> factors(const Param&, const Factors& own, const Pieces&) const = 0;
  // Where the program is to leave the gradient of a param, or its factors.
  virtual std::span<std::byte> contribution(const Param&) = 0;
  // It lies there. Returns at once.
  virtual Status update(const Param&, std::uint64_t step, double rate) = 0;
  // All updates of the step are there.
  virtual Status end_step(std::uint64_t step) = 0;
  // The param is needed: waits until it is what the updates so far have made of it.
  virtual Status collect(const Param&) = 0;
  // Around bringing what was collected into the forms that layers read, which is no computing.
  virtual void converts(bool begins) = 0;
  // Between two ops: whatever waits for this worker.
  virtual Status progress() = 0;
  // The norm of all gradients in the newest update that this worker knows; none: norms are not computed.
  virtual std::optional<double> gradient_norm() const = 0;
  // The others are to see that it is alive.
  virtual void beat() = 0;
  // While nobody computes: what each worker has of its own that a run goes on with; none where the servers have all.
  virtual std::vector<std::vector<TensorPlace>> own_values() = 0;
  // While nobody computes, as the run's leader sees it: the params as each other server group has them, of those whose
  // servers are all on its machine.
  virtual std::vector<std::vector<TensorPlace>> values_elsewhere() = 0;
};

} // namespace dlhost::param
