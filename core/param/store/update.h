// One param's prepared update: the updater's rule as one op over value, gradient and history, in place, which also
// writes those working copies that the device can make along. Prepared once, run once a step by the worker that owns
// the param.
#pragma once

#include <memory>
#include <vector>

#include <dlhost/updater.h>

#include "param/store/store.h"
#include "param/store/sums.h"

namespace dlhost::param {

struct UpdateSettings {
  double clip_value = 0; // 0: not
  double clip_norm = 0;  // of the gradients of all params; 0: not
};

class Update {
 public:
  static Result<std::unique_ptr<Update>> prepare(Store&, Param&, const Updater&, const Updater::Rule&,
                                                 const UpdateSettings&);

  // The sum of the squares of the gradient, for clipping by the norm of all. Waits for the stream.
  Result<double> squared_norm(const void* gradient);
  // The new version. `rate` is the schedule's; scales are applied here.
  Status run(const void* gradient, double rate, float gradient_scale);

  Param& param() { return param_; }
  // That run() reads and writes, each once.
  double bytes() const;
  std::uint64_t count() const { return count_; }
  void resume_at(std::uint64_t count) { count_ = count; }

 private:
  friend class UpdateTogether;
  Update(Store& store, Param& param, const Updater& updater) : store_(store), param_(param), updater_(updater) {}
  Status prepare_apply(const Updater::Rule&, const UpdateSettings&);
  // Of run(): what the op is told, as far as sums do not decide it; and what is known once it has been given.
  std::span<const float> begin(double rate, float gradient_scale);
  Status end();

  Store& store_;
  Param& param_;
  const Updater& updater_;
  std::unique_ptr<Op> apply_, partials_, norm_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Copy*> written_; // by apply_ itself
  std::vector<float> scalars_;
  Sums sums_;
  std::size_t partial_count_ = 0;
  Memory scratch_;
  std::uint64_t count_ = 0;
};

} // namespace dlhost::param
