#include <dlhost/plugin.h>

#include "norm.h"

namespace dlhost::plugins {

class RmsNorm final : public Layer {
 public:
  static constexpr std::string_view name = "rms_norm";
  struct Options {
    std::int64_t axis = 1;
    double epsilon = 1e-5;
  };
  static Schema schema() {
    return SchemaOf<Options>("Normalisation by the root of the mean square: x / sqrt(mean(x^2) + epsilon) * scale.")
        .option("axis", &Options::axis, "the mean is over this axis and all after it",
                between(1, static_cast<double>(max_rank - 1)))
        .option("epsilon", &Options::epsilon, "is added to the mean square", above(0));
  }
  explicit RmsNorm(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    NormSpec spec;
    spec.kind = NormSpec::Kind::rms;
    spec.axis = static_cast<std::size_t>(options_.axis);
    spec.epsilon = options_.epsilon;
    DLHOST_TRY(expect_rank(s, 0, spec.axis + 1));
    ops_.setup(s, spec);
    return {};
  }

  Status prepare(Prepare& p) override { return ops_.prepare(p); }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    ops_.compute_gradient(pass, f, wanted);
  }

 private:
  Options options_;
  NormOps ops_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::RmsNorm);
