#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct LinearOptions : WarmedOptions {
  double end = 0;
  std::int64_t steps = 0;
};

class Linear final : public Warmed<LinearOptions> {
 public:
  static constexpr std::string_view name = "linear";
  using Options = LinearOptions;
  static Schema schema() {
    return warmed(SchemaOf<Options>("From base to end in a straight line.")
                      .option("end", &Options::end, "the rate at the end", at_least(0))
                      .option("steps", &Options::steps, "when the end is reached, warm-up included; 0: with the run",
                              at_least(0)));
  }
  explicit Linear(Options options) : Warmed(std::move(options)) {}

 protected:
  double rate_after(const When& when) const override {
    return options_.base + (options_.end - options_.base) * progress(when, options_.steps);
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Linear);
