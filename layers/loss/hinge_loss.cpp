#include <numeric>

#include <dlhost/plugin.h>

#include "elementwise.h"
#include "labels.h"

namespace dlhost::plugins {

class HingeLoss final : public ElementwiseLoss {
 public:
  static constexpr std::string_view name = "hinge_loss";
  struct Options : LossOptions {
    bool squared = false;
    double margin = 1;
  };
  static Schema schema() {
    return weighted(
        SchemaOf<Options>(
            "One-against-all support vector loss with labels, summed over the classes. src = [scores, labels].")
            .choice("norm", &Options::squared, {{"L1", false}, {"L2", true}},
                    "the loss of each class: the shortfall from the margin, or its square")
            .option("margin", &Options::margin, "right scores should be above it, wrong scores below its negative",
                    above(0)));
  }
  explicit HingeLoss(Options options) : options_(options) {}

 protected:
  double weight() const override { return options_.weight; }
  Term loss(Expression& e) const override {
    const Term shortfall = max(options_.margin - sign(e) * e.input(0), 0.0);
    return options_.squared ? shortfall * shortfall : shortfall;
  }
  Term gradient(Expression& e) const override {
    const Term margin_left = options_.margin - sign(e) * e.input(0);
    const Term slope = options_.squared ? 2.0 * max(margin_left, 0.0) : greater(margin_left, 0.0);
    return -sign(e) * slope;
  }

  Status expect_targets(const Setup& s) const override {
    DLHOST_TRY(expect_rank(s, 0, 2, 2));
    return expect_labels(s, 0, 1);
  }
  Shape target_shape(const Shape& scores) const override { return {scores[0], 1}; }

  // Adds the number of each class, to distinguish the label's class from the others.
  Status more_inputs(Prepare& p, std::vector<TensorDesc>& in) override {
    std::vector<float> classes(static_cast<std::size_t>(p.input(0).shape[1]));
    std::iota(classes.begin(), classes.end(), 0.0F);
    in.push_back({DType::f32, {1, p.input(0).shape[1]}, {}});
    DLHOST_ASSIGN(more_, constant(p.device(), classes));
    return {};
  }

 private:
  // 1 for the label's class, -1 for the others.
  static Term sign(Expression& e) {
    const Term is_other = greater(abs(e.input(1) - e.input(2)), 0.5);
    return 1.0 - 2.0 * is_other;
  }

  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::HingeLoss);
