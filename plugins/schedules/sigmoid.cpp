#include <cmath>

#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct SigmoidOptions : WarmedOptions {
  double gamma = 0, at = 0;
  TimeUnit unit = TimeUnit::steps;
};

class Sigmoid final : public Warmed<SigmoidOptions> {
 public:
  static constexpr std::string_view name = "sigmoid";
  using Options = SigmoidOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("Along a sigmoid: base / (1 + exp(-gamma (time - at))), half of base at `at`.")
                      .required("gamma", &Options::gamma, "how steep it is; below 0 it falls")
                      .required("at", &Options::at, at_least(0), "its middle")
                      .choice("unit", &Options::unit, time_units, "the unit of time"));
  }
  explicit Sigmoid(Options options) : Warmed(options) {}

 protected:
  double rate_after(const When& when) const override {
    return options_.base / (1 + std::exp(-options_.gamma * (time(when, options_.unit) - options_.at)));
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Sigmoid);
