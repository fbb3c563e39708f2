#include <dlhost/parts.h>
#include <dlhost/plugin.h>

#include "gaussian.h"

namespace dlhost::plugins {

class TruncatedGaussian final : public Initializer {
 public:
  static constexpr std::string_view name = "truncated_gaussian";
  struct Options {
    double mean = 0, deviation = 0.01, bound = 2;
  };
  static Schema schema() {
    return SchemaOf<Options>("Normally distributed, drawn again where it is too far from the mean.")
        .option("mean", &Options::mean, "the mean")
        .option("deviation", &Options::deviation, "the standard deviation before truncation", at_least(0))
        .option("bound", &Options::bound, "how many deviations from the mean are allowed", at_least(0.1));
  }
  explicit TruncatedGaussian(Options options) : options_(options) {}

  Status fill(std::span<float> values, const Target&, Random& random) const override {
    Gaussian draw(random);
    for (float& value : values) {
      double deviations = draw();
      while (std::abs(deviations) > options_.bound) deviations = draw();
      value = static_cast<float>(options_.mean + options_.deviation * deviations);
    }
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::TruncatedGaussian);
