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
    return ops_.prepare(p, spec, options_.bias && p.param_shape(1).count() > 0);
  }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    ops_.compute_gradient(pass, f, wanted);
  }

 private:
  // By units, each piece reads the whole input. By inputs, each piece makes a summand of all units.
  void declare_splits(Setup& s) const {
    Split units{
        .name = "features", .length = options_.units, .inputs = {{}}, .params = {along(0)}, .outputs = {along(1)}};
    Split inputs{.name = "inputs",
                 .length = s.input(0)[1],
                 .inputs = {along(1)},
                 .params = {along(1)},
                 .outputs = {{.need = Split::Need::sum}}};
    if (options_.bias) units.params.push_back(along(0));
    if (options_.bias) inputs.params.push_back({.need = Split::Need::once});
    s.splits = {std::move(units), std::move(inputs)};
  }

  Options options_;
  LinearOps<GemmSpec> ops_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Dense);
