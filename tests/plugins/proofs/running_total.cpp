// Proof that core keeps values of a layer from batch to batch, row by row: the layer adds up each row's inputs.
#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class RunningTotal final : public Layer {
 public:
  static constexpr std::string_view name = "running_total";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Its input, and all that came in its row before."); }
  explicit RunningTotal(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    const TensorDesc desc{DType::f32, s.input(0), {}};
    s.output("y", desc);
    total_ = s.buffer({.name = "total", .desc = desc, .life = Life::carried, .initial = 0.5F});
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }

  Status prepare(Prepare& p) override {
    const TensorDesc desc{DType::f32, p.input(0).shape, {}};
    p.reads(0, desc);
    MapSpec add{.expression = {}, .in = {desc, desc}, .out = {desc, desc}};
    const Term sum = add.expression.input(0) + add.expression.input(1);
    add.expression.result(sum);
    add.expression.result(sum);
    DLHOST_ASSIGN(add_, p.op(add));
    MapSpec pass{.expression = {}, .in = {desc}, .out = {desc}};
    pass.expression.result(pass.expression.input(0) * 1);
    DLHOST_ASSIGN(pass_, p.op(pass, Role::input_gradient));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    add_->run(*f.stream, {f.input(0), f.buffer(total_)}, {f.output(0), f.buffer(total_)}, f.scratch, f.dynamic(pass));
  }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (wants_inputs(wanted) && f.input_gradient(0))
      pass_->run(*f.stream, {f.output_gradient(0)}, {f.input_gradient(0)}, f.scratch, f.dynamic(pass));
  }

 private:
  std::size_t total_ = 0;
  std::unique_ptr<Op> add_, pass_;
};

} // namespace

DLHOST_PLUGIN("1.0", RunningTotal);
