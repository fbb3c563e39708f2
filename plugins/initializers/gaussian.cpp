#include <dlhost/parts.h>
#include <dlhost/plugin.h>

#include "gaussian.h"

namespace dlhost::plugins {

class GaussianInitializer final : public Initializer {
 public:
  static constexpr std::string_view name = "gaussian";
  struct Options {
    double mean = 0, deviation = 0.01;
  };
  static Schema schema() {
    return SchemaOf<Options>("Normally distributed.")
        .option("mean", &Options::mean, "the mean")
        .option("deviation", &Options::deviation, "the standard deviation", at_least(0));
  }
  explicit GaussianInitializer(Options options) : options_(options) {}

  Status fill(std::span<float> values, const Target&, Random& random) const override {
    Gaussian draw(random);
    for (float& value : values) value = static_cast<float>(options_.mean + options_.deviation * draw());
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::GaussianInitializer);
