// Proof that a layer may have kernels of its own for some devices: it uses its companion if there is one, and composes
// the device's ops otherwise.
#include <dlhost/kernel.h>
#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Bump final : public Layer {
 public:
  static constexpr std::string_view name = "bump";
  struct Options {
    double sharpness = 1;
    bool composes = true;
  };
  static Schema schema() {
    return SchemaOf<Options>("x exp(-sharpness x^2).")
        .option("sharpness", &Options::sharpness, "how soon it falls", above(0))
        .option("composes", &Options::composes, "use the device's ops where there is no companion");
  }
  explicit Bump(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    s.output("y", TensorDesc{DType::f32, s.input(0), {}});
    return {};
  }

  Status prepare(Prepare& p) override {
    const TensorDesc desc{DType::f32, p.input(0).shape, {}};
    p.reads(0, desc);
    if (!p.has_kernels() && options_.composes) return compose(p, desc);
    DLHOST_ASSIGN(feature_, p.kernel({"feature", {desc}, {desc}, {options_.sharpness}}));
    DLHOST_ASSIGN(gradient_, p.kernel({"gradient", {desc, desc}, {desc}, {options_.sharpness}}, Role::input_gradient));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    feature_->run(*f.stream, {f.input(0)}, {f.output(0)}, f.scratch, f.dynamic(pass));
  }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (wants_inputs(wanted) && f.input_gradient(0))
      gradient_->run(*f.stream, {f.input(0), f.output_gradient(0)}, {f.input_gradient(0)}, f.scratch, f.dynamic(pass));
  }

 private:
  Status compose(Prepare& p, const TensorDesc& desc) {
    MapSpec feature{.expression = {}, .in = {desc}, .out = {desc}};
    {
      const Term x = feature.expression.input(0);
      feature.expression.result(x * exp(-options_.sharpness * x * x));
    }
    DLHOST_ASSIGN(feature_, p.op(feature));
    MapSpec gradient{.expression = {}, .in = {desc, desc}, .out = {desc}};
    {
      const Term x = gradient.expression.input(0), dy = gradient.expression.input(1);
      const Term power = options_.sharpness * x * x;
      gradient.expression.result(dy * exp(-power) * (1 - 2 * power));
    }
    DLHOST_ASSIGN(gradient_, p.op(gradient, Role::input_gradient));
    return {};
  }

  Options options_;
  std::unique_ptr<Op> feature_, gradient_;
};

} // namespace

DLHOST_PLUGIN("1.0", Bump);
