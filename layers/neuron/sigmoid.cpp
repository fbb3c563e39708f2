#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Sigmoid final : public Neuron {
 public:
  static constexpr std::string_view name = "sigmoid";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Logistic function: y = 1 / (1 + exp(-x))."); }
  explicit Sigmoid(Options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise sigmoid{.known = Known::logistic, .from_output = true};
    sigmoid.feature.result(logistic(sigmoid.feature.input(0)));
    const Term y = sigmoid.gradient.input(0);
    sigmoid.gradient.result(y * (1.0 - y));
    return sigmoid;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Sigmoid);
