// One param's prepared update: the updater's rule as one op over value, gradient and history, in place. It also writes
// the working copies that the device can write in the same pass. Prepared once, run once a step by the worker that owns
// the param.
#pragma once

#include <memory>
#include <vector>

#include <dlhost/updater.h>

#include "param/store/store.h"
#include "param/store/sums.h"

namespace dlhost::param {

struct UpdateSettings {
  double clip_value = 0; // 0: off
  double clip_norm = 0;  // of the gradients of all params; 0: off
};

class Update {
 public:
  static Result<std::unique_ptr<Update>> prepare(Store&, Param&, const Updater&, const Updater::Rule&,
                                                 const UpdateSettings&);

  // The sum of squares of the gradient, for clipping by the norm of all params. Waits for the stream.
  Result<double> squared_norm(const void* gradient);
  // Makes the new version. `rate` is the schedule's; the param's scales are applied here.
  Status run(const void* gradient, double rate, float gradient_scale);

  Param& param() { return param_; }
  // Bytes that run() reads and writes.
  double bytes() const;
  std::uint64_t count() const { return count_; }
  void resume_at(std::uint64_t count) { count_ = count; }

 private:
  friend class UpdateTogether;
  Update(Store& store, Param& param, const Updater& updater) : store_(store), param_(param), updater_(updater) {}
  Status prepare_apply(const Updater::Rule&, const UpdateSettings&);
  // The parts of run() before and after the op: the scalars that do not depend on sums, and the new version numbers.
  std::span<const float> begin(double rate, float gradient_scale);
  Status end();

  Store& store_;
  Param& param_;
  const Updater& updater_;
  std::unique_ptr<Op> apply_, partials_, norm_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Copy*> written_; // copies that apply_ writes
  std::vector<float> scalars_;
  Sums sums_;
  std::size_t partial_count_ = 0;
  Memory scratch_;
  std::uint64_t count_ = 0;
};

} // namespace dlhost::param
