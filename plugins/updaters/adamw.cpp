#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Loshchilov and Hutter 2019: as Adam, and w' is less rate weight_decay w.
class AdamW final : public Updater {
 public:
  static constexpr std::string_view name = "adamw";
  using Options = MomentOptions;
  static Schema schema() { return decoupled(with_moments(SchemaOf<Options>("Adam with decoupled weight decay."))); }
  explicit AdamW(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    rule.history = Moments::history();
    rule.own_scalars = 2;
    Terms terms(rule.apply);
    const Term gradient = terms.gradient();
    const Moments moments(terms, options_, gradient);
    const Term root = sqrt(moments.second * terms.own(1)) + options_.epsilon;
    const Term step = moments.first * terms.own(0) / root;
    rule.apply.result(terms.value() - terms.rate() * (step + terms.decay(options_)));
    rule.apply.result(moments.first);
    rule.apply.result(moments.second);
    return rule;
  }

  void scalars(const When& when, std::span<const double>, std::span<float> own) const override {
    own[0] = static_cast<float>(correction(options_.beta1, when.update));
    own[1] = static_cast<float>(correction(options_.beta2, when.update));
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::AdamW);
