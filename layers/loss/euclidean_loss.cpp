#include <dlhost/plugin.h>

#include "elementwise.h"

namespace dlhost::plugins {

class EuclideanLoss final : public ElementwiseLoss {
 public:
  static constexpr std::string_view name = "euclidean_loss";
  struct Options : LossOptions {};
  static Schema schema() {
    return weighted(
        SchemaOf<Options>("Half the squared distance between a sample and its target. src = [values, targets]."));
  }
  explicit EuclideanLoss(Options options) : options_(options) {}

 protected:
  double weight() const override { return options_.weight; }
  Term loss(Expression& e) const override {
    const Term distance = e.input(0) - e.input(1);
    return 0.5 * distance * distance;
  }
  Term gradient(Expression& e) const override { return e.input(0) - e.input(1); }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::EuclideanLoss);
