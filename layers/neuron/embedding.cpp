#include <dlhost/layer.h>
#include <dlhost/partition.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Embedding final : public Layer {
 public:
  static constexpr std::string_view name = "embedding";
  struct Options {
    std::int64_t rows = 0, units = 0;
  };
  static Schema schema() {
    return SchemaOf<Options>("A learned vector for each index of x[n, ...].")
        .required("rows", &Options::rows, at_least(1), "number of different indices, which count from 0")
        .required("units", &Options::units, at_least(1), "length of each vector");
  }
  explicit Embedding(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 1, max_rank - 1));
    Shape y = s.input(0);
    y.push_back(options_.units);
    s.output("y", y);
    s.param({.name = "weight",
             .shape = {options_.rows, options_.units},
             .init = {"gaussian", {}},
             .fan_in = options_.rows,
             .fan_out = options_.units});
    s.factors.push_back({.param = 0, .output = 0, .input = 0, .of_rows = true});
    const std::size_t last = y.rank() - 1;
    s.splits.push_back(
        {.name = "features", .length = options_.units, .inputs = {{}}, .params = {along(1)}, .outputs = {along(last)}});
    return {};
  }

  Status prepare(Prepare& p) override {
    GatherSpec spec;
    spec.table = {p.compute(), p.param_shape(0), {}};
    spec.indices = {DType::i32, p.input(0).shape, {}};
    spec.y = {p.compute(), p.output(0).shape, {}};
    p.reads(0, spec.indices);
    table_ = p.uses(0, spec.table);
    DLHOST_ASSIGN(feature_, p.op(spec));
    if (!p.training() || !p.wants_param_gradient(0)) return {};
    spec.role = Role::param_gradient;
    spec.table = spec.table.as(DType::f32);
    DLHOST_ASSIGN(gradient_, p.op(spec, Role::param_gradient));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    feature_->run(*f.stream, {f.param(table_), f.input(0)}, {f.output(0)}, f.scratch, f.dynamic(pass));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!gradient_ || !wants_params(wanted)) return;
    gradient_->run(*f.stream, {f.input(0), f.output_gradient(0)}, {f.param_gradient(0)}, f.scratch, f.dynamic(pass));
  }

 private:
  Options options_;
  std::size_t table_ = 0;
  std::unique_ptr<Op> feature_, gradient_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Embedding);
