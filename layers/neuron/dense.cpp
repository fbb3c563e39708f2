#include <dlhost/partition.h>
#include <dlhost/plugin.h>

#include "linear.h"

namespace dlhost::plugins {

class Dense final : public Layer {
 public:
  static constexpr std::string_view name = "dense";
  struct Options {
    std::int64_t units = 0;
    bool bias = true;
  };
  static Schema schema() {
    return SchemaOf<Options>("Fully connected: y = x W^T + b. A sample may have any shape: it is read as one vector.")
        .required("units", &Options::units, at_least(1), "number of outputs of each sample")
        .option("bias", &Options::bias, "add a learned bias");
  }
  explicit Dense(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2));
    const Shape& x = s.input(0);
    const std::int64_t fan_in = x.past(1);
    s.output("y", {x[0], options_.units});
    s.param({.name = "weight",
             .shape = x.with(0, options_.units),
             .init = {"xavier", {}},
             .fan_in = fan_in,
             .fan_out = options_.units});
    if (options_.bias) s.param({.name = "bias", .shape = {options_.units}, .init = {"constant", {}}});
    s.accumulates = true;
    s.factors.push_back({.param = 0, .output = 0, .input = 0});
    declare_splits(s);
    return {};
  }

  Status prepare(Prepare& p) override {
    GemmSpec spec;
    spec.x = {p.compute(), p.input(0).shape, Format::any()};
    return ops_.prepare(p, spec, options_.bias);
  }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    ops_.compute_gradient(pass, f, wanted);
  }

 private:
  // By units, each piece reads the whole input. By inputs, each piece makes a summand of all units; every piece would
  // add a bias, so this needs a layer without one.
  void declare_splits(Setup& s) const {
    using Need = Split::Need;
    Split units{.axis = 1, .inputs = {{.need = Need::whole}}, .params = {{.need = Need::same, .axis = 0}}};
    if (options_.bias) units.params.push_back({.need = Need::same, .axis = 0});
    s.splits.push_back(std::move(units));
    if (options_.bias) return;
    s.splits.push_back({.axis = 1,
                        .inputs = {{.need = Need::same, .axis = 1}},
                        .params = {{.need = Need::same, .axis = 1}},
                        .sums_outputs = true});
  }

  Options options_;
  LinearOps<GemmSpec> ops_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Dense);
