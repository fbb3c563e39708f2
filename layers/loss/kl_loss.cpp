#include <dlhost/plugin.h>

#include "elementwise.h"

namespace dlhost::plugins {

class KlLoss final : public ElementwiseLoss {
 public:
  static constexpr std::string_view name = "kl_loss";
  struct Options : LossOptions {};
  static Schema schema() {
    return weighted(
        SchemaOf<Options>("Kullback-Leibler divergence of predicted from target probabilities, summed over a sample: t "
                          "(log t - x), 0 where t is 0. src = [logarithms of probabilities, targets]."));
  }
  explicit KlLoss(Options options) : options_(options) {}

 protected:
  double weight() const override { return options_.weight; }
  Term loss(Expression& e) const override {
    constexpr double least = 1e-30; // above 0 in f32, so that t log t goes to 0 with t
    const Term target = e.input(1);
    return target * (log(max(target, least)) - e.input(0));
  }
  Term gradient(Expression& e) const override { return -e.input(1); }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::KlLoss);
