#include <dlhost/plugin.h>

#include "elementwise.h"

namespace dlhost::plugins {

class SigmoidLoss final : public ElementwiseLoss {
 public:
  static constexpr std::string_view name = "sigmoid_loss";
  struct Options : LossOptions {};
  static Schema schema() {
    return weighted(SchemaOf<Options>("Logistic function of each score, then the cross-entropy with a target in [0, "
                                      "1], summed over a sample. src = [scores, targets]."));
  }
  explicit SigmoidLoss(Options options) : options_(options) {}

 protected:
  double weight() const override { return options_.weight; }
  Term loss(Expression& e) const override {
    const Term x = e.input(0), target = e.input(1);
    return max(x, 0.0) - x * target + log1p(exp(-abs(x))); // exp never overflows
  }
  Term gradient(Expression& e) const override { return logistic(e.input(0)) - e.input(1); }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::SigmoidLoss);
