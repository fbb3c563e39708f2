#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// You et al. 2020: Adam's step with decoupled decay, d = c1 m' / (sqrt(c2 v') + epsilon) + weight_decay w, is scaled to
// the norm of the value: w' = w - rate |w| / |d| d, over the whole param; unscaled if either norm is 0.
class Lamb final : public Updater {
 public:
  static constexpr std::string_view name = "lamb";
  struct Options : MomentOptions {
    Options() { epsilon = 1e-6; }
  };
  static Schema schema() {
    return decoupled(with_moments(SchemaOf<Options>("LAMB: Adam's step, scaled to the norm of the param.")));
  }
  explicit Lamb(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    rule.history = Moments::history();
    rule.own_scalars = 3;
    {
      Terms terms(rule.partials);
      const Moments moments(terms, options_, terms.gradient());
      const Term step = direction(terms, moments);
      rule.partials.result(terms.value() * terms.value());
      rule.partials.result(step * step);
    }
    Terms terms(rule.apply);
    const Moments moments(terms, options_, terms.gradient());
    rule.apply.result(terms.value() - terms.rate() * terms.own(2) * direction(terms, moments));
    rule.apply.result(moments.first);
    rule.apply.result(moments.second);
    return rule;
  }

  void scalars(const When& when, std::span<const double> sums, std::span<float> own) const override {
    own[0] = static_cast<float>(correction(options_.beta1, when.update));
    own[1] = static_cast<float>(correction(options_.beta2, when.update));
    const bool stretches = sums.size() == 2 && sums[0] > 0 && sums[1] > 0;
    own[2] = stretches ? static_cast<float>(std::sqrt(sums[0] / sums[1])) : 1;
  }

 private:
  Term direction(Terms& terms, const Moments& moments) const {
    const Term root = sqrt(moments.second * terms.own(1)) + options_.epsilon;
    return moments.first * terms.own(0) / root + terms.decay(options_);
  }

  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Lamb);
