#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Dozat 2016: the corrected mean looks one step ahead,
//   mu(t+1) m' / (1 - mu(1) ... mu(t+1)) + (1 - mu(t)) g / (1 - mu(1) ... mu(t)),
// where mu is beta1 at all times, or rises to it: mu(t) = beta1 (1 - 0.96^(t momentum_decay) / 2).
class Nadam final : public MomentUpdater {
 public:
  static constexpr std::string_view name = "nadam";
  struct Options : MomentOptions {
    double momentum_decay = 0;
  };
  static Schema schema() {
    return decayed(
        with_moments(SchemaOf<Options>("Adam with Nesterov's momentum."))
            .option(
                "momentum_decay", &Options::momentum_decay,
                "the momentum of step t is beta1 (1 - 0.96^(t momentum_decay) / 2), in PyTorch with 0.004; 0: beta1",
                at_least(0)));
  }
  explicit Nadam(Options options) : MomentUpdater(options), momentum_decay_(options.momentum_decay) {}

  void scalars(const When& when, std::span<const double> sums, std::span<float> own) const override {
    MomentUpdater::scalars(when, sums, own);
    const double now = momentum(when.update), next = momentum(when.update + 1);
    const double product = product_to(when.update);
    own[0] = static_cast<float>((1 - now) / (1 - product));
    own[2] = static_cast<float>(next / (1 - product * next));
  }

 protected:
  Term direction(Terms& terms, Term mean, Term gradient, Term root) const override {
    return (mean * terms.own(2) + gradient * terms.own(0)) / root;
  }

 private:
  double momentum(std::uint64_t update) const {
    if (momentum_decay_ == 0) return options_.beta1;
    return options_.beta1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(update) * momentum_decay_));
  }
  // The product of all momentums so far; 0 if negligible beside 1.
  double product_to(std::uint64_t update) const {
    if (momentum_decay_ == 0) return std::pow(options_.beta1, static_cast<double>(update));
    const double falls = std::pow(0.96, momentum_decay_);
    double product = 1, fallen = 1;
    for (std::uint64_t t = 1; t <= update && product > 1e-20; ++t) {
      fallen *= falls;
      product *= options_.beta1 * (1 - 0.5 * fallen);
    }
    return product;
  }

  double momentum_decay_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Nadam);
