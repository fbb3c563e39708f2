#include <dlhost/plugin.h>

#include "terms.h"

namespace dlhost::plugins {

// Tieleman and Hinton 2012: s' = rho s + (1 - rho) g^2;  d = g / (sqrt(s') + epsilon);  w' = w - rate d; with momentum
// v' = momentum v + d;  w' = w - rate v'. Centered (Graves 2013): m' = rho m + (1 - rho) g, and the variance s' - m'^2
// under the root.
class Rmsprop final : public Updater {
 public:
  static constexpr std::string_view name = "rmsprop";
  struct Options : DecayOptions {
    double rho = 0.99, epsilon = 1e-8, momentum = 0;
    bool centered = false;
  };
  static Schema schema() {
    return decayed(SchemaOf<Options>("RMSProp: gradients divided by the root of their mean square.")
                       .option("rho", &Options::rho, "share of the old mean of squares that stays", from_below(0, 1))
                       .option("epsilon", &Options::epsilon, "is added to the root", above(0))
                       .option("momentum", &Options::momentum, "share of the last step that is added to the next",
                               from_below(0, 1))
                       .option("centered", &Options::centered,
                               "divide by the deviation: the mean's square is taken from that of squares"));
  }
  explicit Rmsprop(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    Terms terms(rule.apply);
    rule.history = {{"square_mean"}};
    const Term gradient = terms.gradient_with(options_);
    const Term squares = options_.rho * terms.history(0) + (1 - options_.rho) * gradient * gradient;
    std::vector<Term> kept{squares};
    Term spread = squares;
    if (options_.centered) {
      rule.history.push_back({"mean"});
      const Term mean = options_.rho * terms.history(1) + (1 - options_.rho) * gradient;
      kept.push_back(mean);
      spread = max(squares - mean * mean, 0.0); // below 0 only by rounding
    }
    Term step = gradient / (sqrt(spread) + options_.epsilon);
    if (options_.momentum != 0) {
      step = options_.momentum * terms.history(static_cast<std::uint16_t>(kept.size())) + step;
      rule.history.push_back({"momentum"});
      kept.push_back(step);
    }
    rule.apply.result(terms.value() - terms.rate() * step);
    for (const Term& each : kept) rule.apply.result(each);
    return rule;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Rmsprop);
