#include <dlhost/partition.h>
#include <dlhost/plugin.h>

#include "op_pair.h"

namespace dlhost::plugins {

class Lrn final : public Layer {
 public:
  static constexpr std::string_view name = "lrn";
  struct Options {
    bool within = false;
    std::int64_t size = 5;
    double alpha = 1e-4, beta = 0.75, k = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Local response normalisation: y = x / (k + alpha / n sum x^2)^beta.")
        .choice("region", &Options::within, {{"across", false}, {"within", true}},
                "sum across neighbouring channels, or within a channel over size x size places")
        .option("size", &Options::size, "channels, or places along each axis, that are summed", at_least(1))
        .option("alpha", &Options::alpha, "factor on the mean of the squares")
        .option("beta", &Options::beta, "the exponent")
        .option("k", &Options::k, "a constant that is added to the mean", above(0));
  }
  explicit Lrn(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, options_.within ? 4 : 2, options_.within ? 4 : 5));
    s.output("y", s.input(0));
    if (options_.within) s.splits.push_back(split_along(s, 1));
    return {};
  }

  Status prepare(Prepare& p) override {
    LrnSpec spec;
    spec.within_channel = options_.within;
    spec.size = options_.size;
    spec.alpha = options_.alpha;
    spec.beta = options_.beta;
    spec.k = options_.k;
    return ops_.prepare(p, spec);
  }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    ops_.compute_gradient(pass, f, wanted, std::array<const void*, 2>{f.input(0), f.output_gradient(0)});
  }

 private:
  Options options_;
  OpPair<LrnSpec> ops_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Lrn);
