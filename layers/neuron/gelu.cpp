#include <numbers>

#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Gelu final : public Neuron {
 public:
  static constexpr std::string_view name = "gelu";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Gaussian error linear unit: y = x (1 + erf(x / sqrt(2))) / 2."); }
  explicit Gelu(Options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise gelu{.known = Known::gelu};
    const Term x = gelu.feature.input(0);
    gelu.feature.result(0.5 * x * (1.0 + erf(x * (1 / std::numbers::sqrt2))));
    return gelu; // core derives the gradient
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Gelu);
