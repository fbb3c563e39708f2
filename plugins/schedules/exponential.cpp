#include <cmath>

#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct ExponentialOptions : WarmedOptions {
  double gamma = 0.99;
  TimeUnit unit = TimeUnit::epochs;
};

class Exponential final : public Warmed<ExponentialOptions> {
 public:
  static constexpr std::string_view name = "exponential";
  using Options = ExponentialOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("Falls steadily: base gamma^time.")
                      .option("gamma", &Options::gamma, "factor for each unit of time", above(0))
                      .choice("unit", &Options::unit, time_units, "the unit of time"));
  }
  explicit Exponential(Options options) : Warmed(std::move(options)) {}

 protected:
  double rate_after(const When& when) const override {
    return options_.base * std::pow(options_.gamma, time(when, options_.unit));
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Exponential);
