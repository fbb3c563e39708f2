#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Softplus final : public Neuron {
 public:
  static constexpr std::string_view name = "softplus";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Smooth rectifier: y = log(1 + exp(x))."); }
  explicit Softplus(Options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise softplus{.known = Known::softplus};
    const Term x = softplus.feature.input(0);
    softplus.feature.result(max(x, 0.0) + log1p(exp(-abs(x)))); // exp never overflows
    softplus.gradient.result(logistic(softplus.gradient.input(0)));
    return softplus;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Softplus);
