// The values of a worker that trains its own copy: each step's gradient updates them by the updater's rule. In the
// steps that push, the worker sends one of two things:
//
//   a difference  part_from()  of its value and theirs, by which both move towards each other (elastic averaging)
//   a sum         gather()     of the gradients of several steps, as one contribution (Downpour that pushes rarely)
//
// Either replaces the gradient in its memory, which belongs to the servers until they have dealt with it. Thread: the
// worker's task. After make() it allocates nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dlhost/updater.h>

#include "param/store/slice_update.h"
#include "param/store/store.h"
#include "param/table/table_memory.h"
#include "plugin/activity.h"

namespace dlhost::param {

class Replica {
 public:
  struct Setup {
    Store* store = nullptr;
    const Gradients* gradients = nullptr;
    const ReplicaPlaces* places = nullptr;
    std::span<std::byte> memory; // the worker's memory, which holds all of these
    const Updater* updater = nullptr;
    const plugin::Actor* updater_actor = nullptr;
    UpdateSettings update_settings; // clip_norm: 0
    plugin::Activity* activity = nullptr;
  };
  // Sets the histories to their initial values.
  static Result<std::unique_ptr<Replica>> make(Setup);

  // Begins after `steps` steps. `values`: the values to start from, with fresh histories; null: the values and
  // histories in memory.
  void begin(const Masters* values, std::uint64_t steps);

  // The value for the next step.
  std::span<std::byte> value(std::size_t param) const;
  // From here on the value is `master`, read in place until the next update.
  void fetch(std::size_t param, std::span<std::byte> master);
  // Updates the value by the gradient.
  Status update(std::size_t param, std::uint64_t step, double rate);

  // Moves the value towards `centre` by `factor` of the difference. The difference replaces the gradient.
  Status part_from(std::size_t param, std::span<const std::byte> centre, float factor);

  struct Accrued {
    std::uint64_t step = 0; // last step
    double rate = 0;
  };
  // Adds the gradient to the kept sum.
  Status accrue(std::size_t param, const Accrued& last);
  // Adds the kept sum to the gradient and empties the sum.
  Status gather(std::size_t param);
  // Moves the kept sum into the gradient's memory, if there is no gradient. Empty: nothing was kept.
  std::optional<Accrued> release(std::size_t param);

 private:
  explicit Replica(const Setup& setup) : setup_(setup) {}
  Status own(std::size_t param, const Updater::Rule&);

  struct Own { // of a param; unused if the param is not updated
    std::int64_t elements = 0;
    float* gradient = nullptr;
    float* value = nullptr;
    float* kept = nullptr;
    const float* newest = nullptr; // `value`, or the memory fetched since
    bool keeps = false;
    Accrued accrued;
    std::unique_ptr<SliceUpdate> update;
    std::unique_ptr<Op> part, add;
  };
  Status run(Op&, std::span<const void* const> inputs, std::span<void* const> outputs, std::span<const float>);

  const Setup setup_;
  std::vector<Own> owned_;
  Memory scratch_;
  std::uint64_t first_ = 0; // the step at which the histories began
};

} // namespace dlhost::param
