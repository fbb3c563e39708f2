#include <cmath>

#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct PolynomialOptions : WarmedOptions {
  double end = 0, power = 1;
  std::int64_t steps = 0;
};

class Polynomial final : public Warmed<PolynomialOptions> {
 public:
  static constexpr std::string_view name = "polynomial";
  using Options = PolynomialOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("From base to end: end + (base - end) (1 - progress)^power.")
                      .option("power", &Options::power, "the exponent", above(0))
                      .option("end", &Options::end, "the rate at the end", at_least(0))
                      .option("steps", &Options::steps, "when the end is reached, warm-up included; 0: with the run",
                              at_least(0)));
  }
  explicit Polynomial(Options options) : Warmed(std::move(options)) {}

 protected:
  double rate_after(const When& when) const override {
    const double left = std::pow(1 - progress(when, options_.steps), options_.power);
    return options_.end + (options_.base - options_.end) * left;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Polynomial);
