#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Tanh final : public Neuron {
 public:
  static constexpr std::string_view name = "tanh";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Hyperbolic tangent of each element."); }
  explicit Tanh(Options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise function{.known = Known::tanh, .from_output = true};
    function.feature.result(tanh(function.feature.input(0)));
    const Term y = function.gradient.input(0);
    function.gradient.result(1.0 - y * y);
    return function;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Tanh);
