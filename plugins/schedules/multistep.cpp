#include <algorithm>
#include <cmath>
#include <vector>

#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct MultiStepOptions : WarmedOptions {
  double gamma = 0.1;
  std::vector<double> at;
  TimeUnit unit = TimeUnit::steps;
};

class MultiStep final : public Warmed<MultiStepOptions> {
 public:
  static constexpr std::string_view name = "multistep";
  using Options = MultiStepOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("Falls at given times: base gamma^(how many of them have passed).")
                      .required("at", &Options::at, at_least(0), "when it falls")
                      .option("gamma", &Options::gamma, "factor of each fall", above(0))
                      .choice("unit", &Options::unit, time_units, "the unit of time"));
  }
  explicit MultiStep(Options options) : Warmed(std::move(options)) {}

 protected:
  double rate_after(const When& when) const override {
    const double now = time(when, options_.unit);
    const auto passed = std::ranges::count_if(options_.at, [now](double fall) { return now >= fall; });
    return options_.base * std::pow(options_.gamma, static_cast<double>(passed));
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::MultiStep);
