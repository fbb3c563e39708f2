// Proof that the SDK supports undirected nets and more than one sweep: a restricted Boltzmann machine, trained by one
// step of contrastive divergence. Two directed edges make the undirected one: the hidden layer reads the visible one,
// and the visible layer reads the hidden one's `down`.
//
//   sweep 0  visible = data                    hidden = logistic(visible W' + b), sampled
//   sweep 1  visible = logistic(sample W + a)  hidden = logistic(visible W' + b)
//   gradient of -log p: (sweep 1's products) - (sweep 0's products)
#include <array>
#include <memory>

#include <dlhost/algorithm.h>
#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

TensorDesc row_of(std::int64_t count) { return {DType::f32, {1, count}, {}}; }

// In {x [n, u]}, out {sum over n of x / batch [1, u]}: for a bias.
MapSpec mean_rows(const TensorDesc& x) {
  MapSpec spec;
  spec.expression.result(spec.expression.input(0) * spec.expression.scalar(0));
  spec.in = {x};
  spec.out = {row_of(x.shape[1])};
  return spec;
}

class Visible final : public Layer {
 public:
  static constexpr std::string_view name = "rbm_visible";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("src = [data, hidden:down]."); }
  explicit Visible(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 2, 2));
    s.output("visible", s.input(0));
    s.param({.name = "bias", .shape = {s.input(0)[1]}, .init = {"constant", {}}});
    s.reads = {.inputs = false, .outputs = true};
    return {};
  }
  Status prepare(Prepare& p) override {
    const TensorDesc x = p.output(0);
    MapSpec copy{.expression = {}, .in = {x}, .out = {x}};
    copy.expression.result(copy.expression.input(0));
    DLHOST_ASSIGN(copy_, p.op(copy));
    MapSpec reconstruct{.expression = {}, .in = {x, row_of(x.shape[1])}, .out = {x}};
    Expression& e = reconstruct.expression;
    const Term sum = e.input(0) + e.input(1);
    e.result(logistic(sum));
    DLHOST_ASSIGN(reconstruct_, p.op(reconstruct));
    DLHOST_ASSIGN(gradient_, p.op(mean_rows(x), Role::param_gradient));
    p.reads(0, x);
    p.reads(1, x);
    bias_ = p.uses(0, {DType::f32, p.param_shape(0), {}});
    p.gives_gradient(0, {DType::f32, p.param_shape(0), {}});
    return {};
  }
  void compute_feature(const Pass& pass, Frame& f) const override {
    if (pass.sweep == 0)
      copy_->run(*f.stream, {f.input(0)}, {f.output(0)}, f.scratch);
    else
      reconstruct_->run(*f.stream, {f.input(1), f.param(bias_)}, {f.output(0)}, f.scratch);
  }
  void compute_gradient(const Pass& pass, Frame& f, Wanted) const override {
    const float factor = -1.0F / static_cast<float>(pass.global_batch);
    gradient_->run(*f.stream, {f.output(0)}, {f.param_gradient(0)}, f.scratch, f.dynamic(pass, {&factor, 1}));
  }

 private:
  std::unique_ptr<Op> copy_, reconstruct_, gradient_;
  std::size_t bias_ = 0;
};

class Hidden final : public Layer {
 public:
  static constexpr std::string_view name = "rbm_hidden";
  struct Options {
    std::int64_t units = 0;
  };
  static Schema schema() {
    return SchemaOf<Options>("src = visible.").required("units", &Options::units, at_least(1), "hidden units");
  }
  explicit Hidden(Options options) : units_(options.units) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    const Shape& v = s.input(0);
    s.output("probability", {v[0], units_});
    s.output("sample", {v[0], units_});
    s.output("down", v);
    s.param({.name = "weight", .shape = {units_, v[1]}, .init = {"xavier", {}}, .fan_in = v[1], .fan_out = units_});
    s.param({.name = "bias", .shape = {units_}, .init = {"constant", {}}});
    s.reads = {.inputs = true, .outputs = true};
    s.buffer({.name = "scaled", .desc = {DType::f32, {v[0], units_}, {}}});
    return {};
  }
  Status prepare(Prepare& p) override {
    const TensorDesc v{DType::f32, p.input(0).shape, {}}, h = p.output(0), w{DType::f32, p.param_shape(0), {}};
    p.reads(0, v);
    DLHOST_ASSIGN(up_, p.op(GemmSpec{.x = v, .w = w, .b = {DType::f32, p.param_shape(1), {}}, .y = h}));
    DLHOST_ASSIGN(down_, p.op(GemmSpec{.role = Role::input_gradient, .x = v, .w = w, .y = h}));
    MapSpec squash{.expression = {}, .in = {h}, .out = {h}};
    squash.expression.result(logistic(squash.expression.input(0)));
    DLHOST_ASSIGN(squash_, p.op(squash));
    MapSpec sample{.expression = {}, .in = {h}, .out = {h}};
    sample.expression.result(greater(sample.expression.input(0), sample.expression.uniform()));
    DLHOST_ASSIGN(sample_, p.op(sample));
    MapSpec scale{.expression = {}, .in = {h}, .out = {h}};
    scale.expression.result(scale.expression.input(0) * scale.expression.scalar(0));
    DLHOST_ASSIGN(scale_, p.op(scale));
    DLHOST_ASSIGN(gradient_,
                  p.op(GemmSpec{.role = Role::param_gradient, .x = v, .w = w, .y = h}, Role::param_gradient));
    DLHOST_ASSIGN(bias_gradient_, p.op(mean_rows(h), Role::param_gradient));
    weight_ = p.uses(0, w);
    bias_ = p.uses(1, {DType::f32, p.param_shape(1), {}});
    p.gives_gradient(0, w);
    p.gives_gradient(1, {DType::f32, p.param_shape(1), {}});
    return {};
  }
  void compute_feature(const Pass& pass, Frame& f) const override {
    up_->run(*f.stream, {f.input(0), f.param(weight_), f.param(bias_)}, {f.output(0)}, f.scratch);
    squash_->run(*f.stream, {f.output(0)}, {f.output(0)}, f.scratch);
    sample_->run(*f.stream, {f.output(0)}, {f.output(1)}, f.scratch, f.dynamic(pass));
    down_->run(*f.stream, {f.output(1), f.param(weight_)}, {f.output(2)}, f.scratch);
  }
  void compute_gradient(const Pass& pass, Frame& f, Wanted) const override {
    const float factor = -1.0F / static_cast<float>(pass.global_batch);
    const Dynamic dynamic = f.dynamic(pass, {&factor, 1});
    scale_->run(*f.stream, {f.output(0)}, {f.buffer(0)}, f.scratch, dynamic);
    gradient_->run(*f.stream, {f.input(0), f.buffer(0)}, {f.param_gradient(0)}, f.scratch);
    bias_gradient_->run(*f.stream, {f.output(0)}, {f.param_gradient(1)}, f.scratch, dynamic);
  }

 private:
  std::int64_t units_;
  std::unique_ptr<Op> up_, down_, squash_, sample_, scale_, gradient_, bias_gradient_;
  std::size_t weight_ = 0, bias_ = 0;
};

class ContrastiveDivergence final : public Algorithm {
 public:
  static constexpr std::string_view name = "cd1";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("One step of contrastive divergence on a pair of layers."); }
  explicit ContrastiveDivergence(Options) {}

  Traits traits() const override { return {.cyclic = true, .needs_loss = false}; }
  void train_one_batch(NetView& net) override {
    for (Node* node : net.nodes()) net.collect(*node);
    for (const std::uint32_t sweep : {0U, 1U}) {
      for (Node* node : net.nodes())
        if (sweep == 0 || !node->is_source()) net.feature(*node, 0, sweep);
      for (Node* node : net.nodes()) net.gradient(*node, Wanted::params, 0, sweep, sweep == 0 ? 1.0F : -1.0F);
    }
    for (Node* node : net.nodes()) net.update(*node);
  }
};

} // namespace

DLHOST_PLUGIN("1.0", ContrastiveDivergence, Visible, Hidden);
