#include <dlhost/plugin.h>

#include "terms.h"

namespace dlhost::plugins {

// Duchi et al. 2011: s' = s + g^2;  w' = w - rate g / (sqrt(s') + epsilon). The rate of update t may also fall: rate /
// (1 + rate_decay (t - 1)).
class Adagrad final : public Updater {
 public:
  static constexpr std::string_view name = "adagrad";
  struct Options : DecayOptions {
    double epsilon = 1e-10, initial = 0, rate_decay = 0;
  };
  static Schema schema() {
    return decayed(SchemaOf<Options>("Adagrad: each element's rate falls with the sum of its squared gradients.")
                       .option("epsilon", &Options::epsilon, "is added to the root", above(0))
                       .option("initial", &Options::initial, "the first value of the sums of squares", at_least(0))
                       .option("rate_decay", &Options::rate_decay,
                               "the rate is divided by 1 + this for each earlier update", at_least(0)));
  }
  explicit Adagrad(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    Terms terms(rule.apply);
    rule.history = {{"square_sum", static_cast<float>(options_.initial)}};
    const Term gradient = terms.gradient_with(options_);
    const Term squares = terms.history(0) + gradient * gradient;
    Term own_rate = terms.rate();
    if (options_.rate_decay != 0) {
      rule.own_scalars = 1;
      own_rate = own_rate * terms.own(0);
    }
    rule.apply.result(terms.value() - own_rate * gradient / (sqrt(squares) + options_.epsilon));
    rule.apply.result(squares);
    return rule;
  }

  void scalars(const When& when, std::span<const double>, std::span<float> own) const override {
    if (!own.empty()) own[0] = static_cast<float>(1 / (1 + options_.rate_decay * static_cast<double>(when.update - 1)));
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Adagrad);
