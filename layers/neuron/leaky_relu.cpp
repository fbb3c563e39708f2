#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class LeakyRelu final : public Neuron {
 public:
  static constexpr std::string_view name = "leaky_relu";
  struct Options {
    double slope = 0.01;
  };
  static Schema schema() {
    return SchemaOf<Options>("Leaky rectifier: y = x where x > 0, else slope x.")
        .option("slope", &Options::slope, "the slope below 0", at_least(0));
  }
  explicit LeakyRelu(Options options) : options_(options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise leaky{.known = Known::leaky_relu, .alpha = options_.slope, .from_output = true};
    const Term x = leaky.feature.input(0);
    leaky.feature.result(select(x, x, options_.slope * x));
    Expression& gradient = leaky.gradient; // a function of y, which has the sign of x
    gradient.result(select(gradient.input(0), gradient.constant(1), gradient.constant(options_.slope)));
    return leaky;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::LeakyRelu);
