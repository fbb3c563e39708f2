#include <dlhost/plugin.h>

#include "terms.h"

namespace dlhost::plugins {

// v' = momentum v + g;  w' = w - rate v'; with nesterov w' = w - rate (g + momentum v'). With holds_rate, like Caffe:
// v' = momentum v + rate g;  w' = w - v'; with nesterov w' = w - (rate g + momentum v').
class Sgd final : public Updater {
 public:
  static constexpr std::string_view name = "sgd";
  struct Options : DecayOptions {
    double momentum = 0;
    bool nesterov = false, holds_rate = false;
  };
  static Schema schema() {
    return decayed(
        SchemaOf<Options>("Stochastic gradient descent, with momentum.")
            .option("momentum", &Options::momentum, "share of the last step that is added to the next",
                    from_below(0, 1))
            .option("nesterov", &Options::nesterov, "look ahead along the momentum")
            .option("holds_rate", &Options::holds_rate,
                    "the momentum keeps steps, with their rates: when the rate falls, earlier steps keep theirs"));
  }
  explicit Sgd(Options options) : options_(options) {}

  Rule rule() const override {
    Rule rule;
    Terms terms(rule.apply);
    const Term gradient = terms.gradient_with(options_);
    if (options_.momentum == 0) {
      rule.apply.result(terms.value() - terms.rate() * gradient);
      return rule;
    }
    rule.history = {{"momentum"}};
    const Term added = options_.holds_rate ? terms.rate() * gradient : gradient;
    const Term velocity = options_.momentum * terms.history(0) + added;
    const Term step = options_.nesterov ? added + options_.momentum * velocity : velocity;
    rule.apply.result(terms.value() - (options_.holds_rate ? step : terms.rate() * step));
    rule.apply.result(velocity);
    return rule;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Sgd);
