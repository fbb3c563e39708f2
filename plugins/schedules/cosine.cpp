#include <cmath>
#include <numbers>

#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct CosineOptions : WarmedOptions {
  double end = 0;
  std::int64_t steps = 0;
};

class Cosine final : public Warmed<CosineOptions> {
 public:
  static constexpr std::string_view name = "cosine";
  using Options = CosineOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("Half a cosine from base to end: end + (base - end) (1 + cos(pi progress)) / 2.")
                      .option("end", &Options::end, "the rate at the end", at_least(0))
                      .option("steps", &Options::steps, "when the end is reached, warm-up included; 0: with the run",
                              at_least(0)));
  }
  explicit Cosine(Options options) : Warmed(options) {}

 protected:
  double rate_after(const When& when) const override {
    const double share = (1 + std::cos(std::numbers::pi * progress(when, options_.steps))) / 2;
    return options_.end + (options_.base - options_.end) * share;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Cosine);
