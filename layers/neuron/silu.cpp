#include <dlhost/neuron.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Silu final : public Neuron {
 public:
  static constexpr std::string_view name = "silu";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Sigmoid linear unit (swish): y = x / (1 + exp(-x))."); }
  explicit Silu(Options) {}

 protected:
  Pointwise pointwise() const override {
    Pointwise silu{.known = Known::silu};
    const Term x = silu.feature.input(0);
    silu.feature.result(x * logistic(x));
    return silu; // core derives the gradient
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Silu);
