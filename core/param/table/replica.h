// The values of a worker that trains some of its own: each step's gradient updates them by the updater's rule. What
// then goes to the servers, in those steps that say so, is one of two:
//
//   a difference  part_from()  of its value and theirs, by which both move towards each other (elastic averaging)
//   a sum         gather()     of the gradients of several steps, as one contribution (Downpour that pushes rarely)
//
// Either lies where the gradient was, and is the servers' until they have dealt with it. Used by the worker's task;
// after make() it allocates nothing.
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
    std::span<std::byte> memory; // the worker's, where all of them lie
    const Updater* updater = nullptr;
    const plugin::Actor* updater_actor = nullptr;
    UpdateSettings update_settings; // clip_norm: 0
    plugin::Activity* activity = nullptr;
  };
  // Histories are what they are at first.
  static Result<std::unique_ptr<Replica>> make(Setup);

  // After so many steps: with these values and fresh histories, or, null, with its own, which are there.
  void begin(const Masters* values, std::uint64_t steps);

  // The value, as the next step needs it.
  std::span<std::byte> value(std::size_t param) const;
  // It is this one from here on: read where it lies until the next update.
  void fetch(std::size_t param, std::span<std::byte> master);
  // By the gradient.
  Status update(std::size_t param, std::uint64_t step, double rate);

  // Moves away from the value by `factor` of the difference; the difference takes the gradient's place.
  Status part_from(std::size_t param, std::span<const std::byte> centre, float factor);

  struct Accrued {
    std::uint64_t step = 0; // the last
    double rate = 0;
  };
  // The gradient is kept for later.
  Status accrue(std::size_t param, const Accrued& last);
  // What was kept is added to the gradient, and kept no longer.
  Status gather(std::size_t param);
  // The same where no gradient is; none: nothing was kept.
  std::optional<Accrued> release(std::size_t param);

 private:
  explicit Replica(const Setup& setup) : setup_(setup) {}
  Status own(std::size_t param, const Updater::Rule&);

  struct Own { // of a param; one that is not updated has none
    std::int64_t elements = 0;
    float* gradient = nullptr;
    float* value = nullptr;
    float* kept = nullptr;
    const float* newest = nullptr; // its value, or what was fetched since
    bool keeps = false;
    Accrued accrued;
    std::unique_ptr<SliceUpdate> update;
    std::unique_ptr<Op> part, add;
  };
  Status run(Op&, std::span<const void* const> inputs, std::span<void* const> outputs, std::span<const float>);

  const Setup setup_;
  std::vector<Own> owned_;
  Memory scratch_;
  std::uint64_t first_ = 0; // step that histories are of
};

} // namespace dlhost::param
