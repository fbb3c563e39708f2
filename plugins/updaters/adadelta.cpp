#include <dlhost/plugin.h>

#include "terms.h"

namespace dlhost::plugins {

// Zeiler 2012: s' = rho s + (1 - rho) g^2;  d = g sqrt(u + epsilon) / sqrt(s' + epsilon);  u' = rho u + (1 - rho) d^2;
// w' = w - rate d.
class Adadelta final : public Updater {
 public:
  static constexpr std::string_view name = "adadelta";
  struct Options : DecayOptions {
    double rho = 0.9, epsilon = 1e-6;
  };
  static Schema schema() {
    return decayed(SchemaOf<Options>("Adadelta: steps in the units of the value; the rate is mostly 1.")
                       .option("rho", &Options::rho, "share of the old means that stays", from_below(0, 1))
                       .option("epsilon", &Options::epsilon, "is added inside both roots", above(0)));
  }
  explicit Adadelta(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    Terms terms(rule.apply);
    rule.history = {{"square_mean"}, {"step_square_mean"}};
    const Term gradient = terms.gradient_with(options_);
    const Term squares = options_.rho * terms.history(0) + (1 - options_.rho) * gradient * gradient;
    const Term step = gradient * sqrt(terms.history(1) + options_.epsilon) / sqrt(squares + options_.epsilon);
    rule.apply.result(terms.value() - terms.rate() * step);
    rule.apply.result(squares);
    rule.apply.result(options_.rho * terms.history(1) + (1 - options_.rho) * step * step);
    return rule;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Adadelta);
