#include <dlhost/plugin.h>

#include "terms.h"

namespace dlhost::plugins {

// Tieleman and Hinton 2012: s' = rho s + (1 - rho) g^2;  d = g / (sqrt(s') + epsilon);  w' = w - rate d, or with
// momentum v' = momentum v + d;  w' = w - rate v'.
class Rmsprop final : public Updater {
 public:
  static constexpr std::string_view name = "rmsprop";
  struct Options : DecayOptions {
    double rho = 0.99, epsilon = 1e-8, momentum = 0;
  };
  static Schema schema() {
    return decayed(
        SchemaOf<Options>("RMSProp: gradients divided by the root of their mean square.")
            .option("rho", &Options::rho, "share of the old mean of squares that stays", from_below(0, 1))
            .option("epsilon", &Options::epsilon, "is added to the root", above(0))
            .option("momentum", &Options::momentum, "share of the last step that goes on", from_below(0, 1)));
  }
  explicit Rmsprop(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    Terms terms(rule.apply);
    rule.history = {{"square_mean"}};
    const Term gradient = terms.gradient_with(options_);
    const Term squares = options_.rho * terms.history(0) + (1 - options_.rho) * gradient * gradient;
    const Term step = gradient / (sqrt(squares) + options_.epsilon);
    if (options_.momentum == 0) {
      rule.apply.result(terms.value() - terms.rate() * step);
      rule.apply.result(squares);
      return rule;
    }
    rule.history.push_back({"momentum"});
    const Term velocity = options_.momentum * terms.history(1) + step;
    rule.apply.result(terms.value() - terms.rate() * velocity);
    rule.apply.result(squares);
    rule.apply.result(velocity);
    return rule;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Rmsprop);
