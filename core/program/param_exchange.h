// What turns the gradients of a step into new values of the params:
//
//   LocalUpdates   one worker, which updates its params itself
//   SummedUpdates  several workers with params of their own: each makes the same updates of the sum of all gradients,
//                  which their devices add up
//   TableUpdates   several workers that share the parameter table: its servers make the updates
//
// A program has one, chosen when it is built. Updates are numbered in the order in which the program makes their
// gradients. Thread: the computing task.
#pragma once

#include <cstdint>
#include <optional>

#include <dlhost/layer.h>

#include "param/store/store.h"
#include "program/timings.h"

namespace dlhost::program {

struct StepInfo {
  Phase phase = Phase::train;
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;
  std::uint64_t seed = 0;
  std::int64_t global_batch = 0;
  double rate = 0;
};

class ParamExchange {
 public:
  virtual ~ParamExchange() = default;

  // Call between two ops: serves other workers.
  virtual Status progress() { return {}; }
  // Waits until the param has the value that all updates so far give it.
  virtual Status collect(const param::Param&) { return {}; }
  // Call around the conversion of collected params, which does not count as computing.
  virtual void converts(bool /*begins*/) {}
  // The work that makes the gradient of this update is queued.
  virtual Status add(std::uint32_t update, const StepInfo&) = 0;
  // Call before params are read that were updated earlier in the same step.
  virtual Status settle(const StepInfo&) { return {}; }
  // All updates of the step are added.
  virtual Status end_step(const StepInfo&) = 0;
  // The step has failed: waits until no copy or sum of it is queued.
  virtual void abandon() {}

  // The norm of the last step's gradients before clipping; none: norms are not computed.
  virtual std::optional<double> gradient_norm() const = 0;
  // Sets the number of updates that each param has had.
  virtual void resume_at(std::uint64_t /*updates*/) {}
  // Adds the bytes that an update moves, if this worker makes it.
  virtual void describe(std::uint32_t /*update*/, Timing&) const {}
};

} // namespace dlhost::program
