#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Relu final : public Neuron {
 public:
  static constexpr std::string_view name = "relu";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Rectifier: y = max(x, 0)."); }
  explicit Relu(Options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise relu{.known = Known::relu, .from_output = true};
    relu.feature.result(max(relu.feature.input(0), 0.0));
    relu.gradient.result(greater(relu.gradient.input(0), 0.0));
    return relu;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Relu);
