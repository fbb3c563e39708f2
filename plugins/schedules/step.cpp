#include <cmath>

#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct StepDownOptions : WarmedOptions {
  double gamma = 0.1, every = 0;
  TimeUnit unit = TimeUnit::steps;
};

class StepDown final : public Warmed<StepDownOptions> {
 public:
  static constexpr std::string_view name = "step";
  using Options = StepDownOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("Falls at regular times: base gamma^floor(time / every).")
                      .required("every", &Options::every, above(0), "how long each rate lasts")
                      .option("gamma", &Options::gamma, "factor of each fall", above(0))
                      .choice("unit", &Options::unit, time_units, "the unit of time"));
  }
  explicit StepDown(Options options) : Warmed(std::move(options)) {}

 protected:
  double rate_after(const When& when) const override {
    return options_.base * std::pow(options_.gamma, std::floor(time(when, options_.unit) / options_.every));
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::StepDown);
