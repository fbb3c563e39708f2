// The layer 'prelu': y = x where x > 0, else slope x, with one learned slope for each channel (He et al. 2015,
// "Delving deep into rectifiers"). It is built outside of dlhost's tree, against its headers alone.
#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace {

using namespace dlhost;

class Prelu final : public Layer {
 public:
  static constexpr std::string_view name = "prelu";
  struct Options {
    double slope = 0.25;
  };
  static Schema schema() {
    return SchemaOf<Options>("y = x where x > 0, else slope x, with a learned slope for each index of axis 1.")
        .option("slope", &Options::slope, "what the slopes start from");
  }
  explicit Prelu(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2));
    s.output("y", s.input(0));
    s.param({.name = "slope",
             .shape = {s.input(0)[1]},
             .init = {"constant", {{{"value", {options_.slope, {}}}}, {}}},
             .decay_scale = 0}); // decay would pull it towards relu
    return {};
  }

  // An op is a formula, which every device compiles. The slope is on axis 1 and repeats along the other axes.
  Status prepare(Prepare& p) override {
    const TensorDesc x{p.compute(), p.input(0).shape, {}};
    TensorDesc slope{DType::f32, {}, {}};
    for (std::size_t axis = 0; axis < x.shape.rank(); ++axis) slope.shape.push_back(axis == 1 ? x.shape[1] : 1);
    p.reads(0, x);
    slope_ = p.uses(0, {DType::f32, p.param_shape(0), {}});

    MapSpec feature;
    feature.in = {x, slope};
    feature.out = {x};
    Expression& y = feature.expression;
    y.result(select(y.input(0), y.input(0), y.input(1) * y.input(0)));
    DLHOST_ASSIGN(feature_, p.op(feature));
    return p.training() ? prepare_gradients(p, x, slope) : Status();
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    feature_->run(*f.stream, {f.input(0), f.param(slope_)}, {f.output(0)}, f.scratch, f.dynamic(pass));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (input_gradient_ && wants_inputs(wanted))
      input_gradient_->run(*f.stream, {f.input(0), f.output_gradient(0), f.param(slope_)}, {f.input_gradient(0)},
                           f.scratch, f.dynamic(pass));
    if (param_gradient_ && wants_params(wanted))
      param_gradient_->run(*f.stream, {f.input(0), f.output_gradient(0)}, {f.param_gradient(0)}, f.scratch,
                           f.dynamic(pass));
  }

 private:
  Status prepare_gradients(Prepare& p, const TensorDesc& x, const TensorDesc& slope) {
    if (p.wants_input_gradient(0)) {
      MapSpec inputs; // of x, dy and the slope
      inputs.in = {x, x, slope};
      inputs.out = {x};
      Expression& dx = inputs.expression;
      dx.result(select(dx.input(0), dx.input(1), dx.input(2) * dx.input(1)));
      DLHOST_ASSIGN(input_gradient_, p.op(inputs, Role::input_gradient));
    }
    if (p.wants_param_gradient(0)) {
      MapSpec params; // of x and dy
      params.in = {x, x};
      params.out = {slope};
      params.rows = true; // where an output has an axis of 1 and the inputs more, all rows that count are summed
      Expression& dslope = params.expression;
      dslope.result(select(dslope.input(0), dslope.constant(0), dslope.input(0) * dslope.input(1)));
      DLHOST_ASSIGN(param_gradient_, p.op(params, Role::param_gradient));
    }
    return {};
  }

  Options options_;
  std::size_t slope_ = 0;
  std::unique_ptr<Op> feature_, input_gradient_, param_gradient_;
};

} // namespace

DLHOST_PLUGIN("1.0", Prelu);
