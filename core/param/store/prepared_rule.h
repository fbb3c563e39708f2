// An updater's rule for one param, prepared once: the op that makes new values, and the ops of the sums that come
// before it. Update and SliceUpdate give it their tensors; UpdateTogether prepares the same op over several params.
// Running it allocates nothing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <dlhost/updater.h>

#include "param/store/rule_op.h"
#include "param/store/store.h"
#include "param/store/sums.h"

namespace dlhost::param {

struct UpdateSettings {
  double clip_value = 0; // 0: off
  double clip_norm = 0;  // of the gradients of all params; 0: off
};

class PreparedRule {
 public:
  struct Setup {
    const Updater* updater = nullptr;
    const Updater::Rule* rule = nullptr;
    RuleForm form;
    TensorDesc tensor;       // of value, gradients and history
    bool takes_norm = false; // squared_norm() will be called
  };
  PreparedRule() = default;
  // The op also writes those of the form's copies that the device can write in the same pass: written() tells which.
  static Result<PreparedRule> prepare(Store&, const Declaration&, const Setup&);

  // The places of the written copies among those of the setup.
  const std::vector<std::size_t>& written() const { return written_; }
  const Op& op() const { return *apply_; }
  bool has_partials() const { return partials_ != nullptr; }

  // Sets the scalars of the update with this number. `rate` is the schedule's; the param's scales are applied here.
  // `sums`: the partials over the whole param; empty before they are known.
  std::span<const float> set(std::uint64_t count, double rate, float gradient_scale, std::span<const double> sums);
  // Inputs and outputs are those of the ops in rule_op.h. Requires: a setup that takes the norm.
  Result<double> squared_norm(std::span<const void* const> gradients);
  // Requires: the rule has partials.
  Result<std::span<const double>> partials(std::span<const void* const> inputs);
  void apply(std::span<const void* const> inputs, std::span<void* const> outputs);

 private:
  Status prepare_apply(Device&, const Setup&);
  Status prepare_sums(Device&, const Setup&);

  const Declaration* declared_ = nullptr;
  const Updater* updater_ = nullptr;
  Stream* stream_ = nullptr;
  std::unique_ptr<Op> apply_, partials_, norm_; // partials_ and norm_ are null if not needed
  std::vector<std::size_t> written_;
  std::vector<float> scalars_;
  std::size_t partial_count_ = 0;
  Sums sums_;
  Memory scratch_;
};

} // namespace dlhost::param
