#include <dlhost/plugin.h>

#include "scaled.h"

namespace dlhost::plugins {

class Xavier final : public Initializer {
 public:
  static constexpr std::string_view name = "xavier";
  struct Options : ScaledOptions {};
  static Schema schema() { return scaled(SchemaOf<Options>("Glorot and Bengio 2010: variance 1 / fan.")); }
  explicit Xavier(Options options) : options_(options) {}

  Status fill(std::span<float> values, const Target& target, Random& random) const override {
    return fill_scaled(options_, 1, values, target, random);
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Xavier);
