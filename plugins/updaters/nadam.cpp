#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Dozat 2016, with a constant momentum: the corrected mean looks one step ahead,
//   beta1 m' / (1 - beta1^(t + 1)) + (1 - beta1) g / (1 - beta1^t).
class Nadam final : public Updater {
 public:
  static constexpr std::string_view name = "nadam";
  using Options = MomentOptions;
  static Schema schema() { return decayed(with_moments(SchemaOf<Options>("Adam with Nesterov's momentum."))); }
  explicit Nadam(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    rule.history = Moments::history();
    rule.own_scalars = 3;
    Terms terms(rule.apply);
    const Term gradient = terms.gradient_with(options_);
    const Moments moments(terms, options_, gradient);
    const Term ahead = options_.beta1 * moments.first * terms.own(2) + (1 - options_.beta1) * gradient * terms.own(0);
    const Term root = sqrt(moments.second * terms.own(1)) + options_.epsilon;
    rule.apply.result(terms.value() - terms.rate() * ahead / root);
    rule.apply.result(moments.first);
    rule.apply.result(moments.second);
    return rule;
  }

  void scalars(const When& when, std::span<const double>, std::span<float> own) const override {
    own[0] = static_cast<float>(correction(options_.beta1, when.update));
    own[1] = static_cast<float>(correction(options_.beta2, when.update));
    own[2] = static_cast<float>(correction(options_.beta1, when.update + 1));
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Nadam);
