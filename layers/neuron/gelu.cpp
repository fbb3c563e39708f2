#include <numbers>

#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Gelu final : public Neuron {
 public:
  static constexpr std::string_view name = "gelu";
  struct Options {
    bool by_tanh = false;
  };
  static Schema schema() {
    return SchemaOf<Options>("Gaussian error linear unit: y = x (1 + erf(x / sqrt(2))) / 2.")
        .choice("formula", &Options::by_tanh, {{"erf", false}, {"tanh", true}},
                "exact, or the approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2");
  }
  explicit Gelu(Options options) : by_tanh_(options.by_tanh) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise gelu{.known = by_tanh_ ? Known::none : Known::gelu};
    const Term x = gelu.feature.input(0);
    if (by_tanh_) {
      constexpr double slope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
      gelu.feature.result(0.5 * x * (1.0 + tanh(slope * (x + 0.044715 * (x * x * x)))));
    } else {
      gelu.feature.result(0.5 * x * (1.0 + erf(x * (1 / std::numbers::sqrt2))));
    }
    return gelu; // core derives the gradient
  }

 private:
  bool by_tanh_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Gelu);
