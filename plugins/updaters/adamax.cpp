#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Kingma and Ba 2014, section 7.1: u' = max(beta2 u, |g|);  w' = w - rate c1 m' / (u' + epsilon).
class Adamax final : public Updater {
 public:
  static constexpr std::string_view name = "adamax";
  using Options = MomentOptions;
  static Schema schema() {
    return decayed(with_moments(SchemaOf<Options>("Adam with the greatest gradient instead of the root mean square.")));
  }
  explicit Adamax(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    rule.history = {{"mean"}, {"greatest"}};
    rule.own_scalars = 1;
    Terms terms(rule.apply);
    const Term gradient = terms.gradient_with(options_);
    const Term mean = options_.beta1 * terms.history(0) + (1 - options_.beta1) * gradient;
    const Term greatest = max(options_.beta2 * terms.history(1), abs(gradient));
    rule.apply.result(terms.value() - terms.rate() * (mean * terms.own(0)) / (greatest + options_.epsilon));
    rule.apply.result(mean);
    rule.apply.result(greatest);
    return rule;
  }

  void scalars(const When& when, std::span<const double>, std::span<float> own) const override {
    own[0] = static_cast<float>(correction(options_.beta1, when.update));
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Adamax);
