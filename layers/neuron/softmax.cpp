#include <dlhost/plugin.h>

#include "op_pair.h"

namespace dlhost::plugins {

class Softmax final : public Layer {
 public:
  static constexpr std::string_view name = "softmax";
  struct Options {
    std::int64_t axis = 1;
    bool logarithm = false;
  };
  static Schema schema() {
    return SchemaOf<Options>("Softmax over one axis. (For training, softmax_loss does both at once, and exactly.)")
        .option("axis", &Options::axis, "the axis that sums to 1; 0 is the batch",
                between(1, static_cast<double>(max_rank - 1)))
        .option("logarithm", &Options::logarithm, "give the logarithm of the probabilities");
  }
  explicit Softmax(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, static_cast<std::size_t>(options_.axis) + 1));
    s.output("y", s.input(0));
    s.reads = {.inputs = false, .outputs = true};
    return {};
  }

  Status prepare(Prepare& p) override {
    SoftmaxSpec spec;
    spec.axis = static_cast<std::size_t>(options_.axis);
    spec.logarithm = options_.logarithm;
    return ops_.prepare(p, spec);
  }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    ops_.compute_gradient(pass, f, wanted, std::array<const void*, 2>{f.output(0), f.output_gradient(0)});
  }

 private:
  Options options_;
  OpPair<SoftmaxSpec> ops_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Softmax);
