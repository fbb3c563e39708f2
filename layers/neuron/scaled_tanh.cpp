#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class ScaledTanh final : public Neuron {
 public:
  static constexpr std::string_view name = "scaled_tanh";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("LeCun's hyperbolic tangent: y = 1.7159 tanh(2 x / 3)."); }
  explicit ScaledTanh(Options) {}

 protected:
  Pointwise pointwise() const override {
    constexpr double amplitude = 1.7159, slope = 2.0 / 3.0;
    Pointwise scaled{.from_output = true};
    scaled.feature.result(amplitude * tanh(slope * scaled.feature.input(0)));
    const Term y = scaled.gradient.input(0);
    scaled.gradient.result(amplitude * slope - slope / amplitude * (y * y));
    return scaled;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::ScaledTanh);
