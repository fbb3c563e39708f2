#include <dlhost/plugin.h>

#include "scaled.h"

namespace dlhost::plugins {

class Msra final : public Initializer {
 public:
  static constexpr std::string_view name = "msra";
  struct Options : ScaledOptions {
    Options() : ScaledOptions{Distribution::gaussian, Fan::in} {}
    double slope = 0;
  };
  static Schema schema() {
    return scaled(SchemaOf<Options>("He et al. 2015, for rectifiers: variance 2 / (1 + slope^2) / fan.")
                      .option("slope", &Options::slope, "the slope below 0 of the leaky rectifier that follows"));
  }
  explicit Msra(Options options) : options_(options) {}

  Status fill(std::span<float> values, const Target& target, Random& random) const override {
    return fill_scaled(options_, 2 / (1 + options_.slope * options_.slope), values, target, random);
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Msra);
