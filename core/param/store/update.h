// One param's prepared update: the updater's rule as one op over value, gradient and history, in place. It also writes
// the working copies that the device can write in the same pass. Prepared once, run once a step by the worker that owns
// the param.
#pragma once

#include <memory>
#include <vector>

#include <dlhost/updater.h>

#include "param/store/prepared_rule.h"
#include "param/store/store.h"

namespace dlhost::param {

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
  Update(Store& store, Param& param) : store_(store), param_(param) {}
  // The parts of run() before and after the op: the scalars that do not depend on sums, and the new version numbers.
  std::span<const float> begin(double rate, float gradient_scale);
  Status end();

  Store& store_;
  Param& param_;
  PreparedRule rule_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Copy*> written_; // copies that the op writes
  std::uint64_t count_ = 0;
};

} // namespace dlhost::param
