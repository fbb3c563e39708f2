#include <cmath>

#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct InverseOptions : WarmedOptions {
  double gamma = 1e-4, power = 0.75;
  TimeUnit unit = TimeUnit::steps;
};

class Inverse final : public Warmed<InverseOptions> {
 public:
  static constexpr std::string_view name = "inverse";
  using Options = InverseOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("Falls ever more slowly: base (1 + gamma time)^-power.")
                      .option("gamma", &Options::gamma, "how fast time goes", at_least(0))
                      .option("power", &Options::power, "the exponent", at_least(0))
                      .choice("unit", &Options::unit, time_units, "the unit of time"));
  }
  explicit Inverse(Options options) : Warmed(std::move(options)) {}

 protected:
  double rate_after(const When& when) const override {
    return options_.base * std::pow(1 + options_.gamma * time(when, options_.unit), -options_.power);
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Inverse);
