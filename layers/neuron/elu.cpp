#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Elu final : public Neuron {
 public:
  static constexpr std::string_view name = "elu";
  struct Options {
    double scale = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Exponential linear unit: y = x where x > 0, else scale (exp(x) - 1).")
        .option("scale", &Options::scale, "y approaches -scale far below 0", at_least(0));
  }
  explicit Elu(Options options) : options_(options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise elu{.known = Known::elu, .alpha = options_.scale, .from_output = true};
    const Term x = elu.feature.input(0);
    elu.feature.result(select(x, x, options_.scale * (exp(min(x, 0.0)) - 1.0)));
    Expression& gradient = elu.gradient;
    const Term y = gradient.input(0);
    gradient.result(select(y, gradient.constant(1), y + options_.scale));
    return elu;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Elu);
