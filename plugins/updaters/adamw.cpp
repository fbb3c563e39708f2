#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Loshchilov and Hutter 2019: like Adam, with rate weight_decay w subtracted from w'.
class AdamW final : public MomentUpdater {
 public:
  static constexpr std::string_view name = "adamw";
  static Schema schema() {
    return decoupled(with_amsgrad(with_moments(SchemaOf<Options>("Adam with decoupled weight decay."))));
  }
  explicit AdamW(Options options) : MomentUpdater(options) {}

 protected:
  Term gradient(Terms& terms) const override { return terms.gradient(); }
  Term direction(Terms& terms, Term mean, Term, Term root) const override {
    return mean * terms.own(0) / root + terms.decay(options_);
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::AdamW);
