#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Kingma and Ba 2014: w' = w - rate c1 m' / (sqrt(c2 v') + epsilon), where c1 and c2 correct the bias.
class Adam final : public Updater {
 public:
  static constexpr std::string_view name = "adam";
  using Options = MomentOptions;
  static Schema schema() {
    return decayed(
        with_moments(SchemaOf<Options>("Adam: the mean of gradients over the root of the mean of their squares.")));
  }
  explicit Adam(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    rule.history = Moments::history();
    rule.own_scalars = 2;
    Terms terms(rule.apply);
    const Term gradient = terms.gradient_with(options_);
    const Moments moments(terms, options_, gradient);
    const Term root = sqrt(moments.second * terms.own(1)) + options_.epsilon;
    rule.apply.result(terms.value() - terms.rate() * (moments.first * terms.own(0)) / root);
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

DLHOST_PLUGIN("1.0", dlhost::plugins::Adam);
