// The ops of a layer that is linear in its input and its weight (dense, convolution, deconvolution): three products,
// and an optional bias. Input 0, output 0; param 0 is the weight, param 1 the bias.
//
// Spec is GemmSpec or ConvSpec. The layer sets its geometry and the form of x; each product's op chooses the formats of
// y and of the weight.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include <dlhost/layer.h>

namespace dlhost::plugins {

template <class Spec> class LinearOps {
 public:
  Status prepare(Prepare& p, Spec spec, bool bias) {
    DLHOST_TRY(prepare_feature(p, spec, bias));
    if (!p.training()) return {};
    spec.epilogue = {};
    spec.x = feature_->in[0];
    spec.y = feature_->out[0];
    if (p.wants_input_gradient(0)) DLHOST_TRY(prepare_input_gradient(p, spec));
    if (p.wants_param_gradient(0)) return prepare_param_gradient(p, spec, bias);
    return bias && p.wants_param_gradient(1) ? prepare_bias_gradient(p, spec) : Status();
  }

  void compute_feature(const Pass& pass, Frame& f) const {
    std::array<const void*, 4> in{f.input(0), f.param(weight_)};
    std::size_t count = 2;
    if (bias_) in[count++] = f.param(*bias_);
    if (addend_) in[count++] = f.input(*addend_);
    void* out = f.output(0);
    feature_->execute(*f.stream, {in.data(), count}, {&out, 1}, f.scratch, f.dynamic(pass));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const {
    if (input_gradient_ && wants_inputs(wanted)) {
      void* out = f.input_gradient(0);
      const std::array<const void*, 3> in{f.output_gradient(0), f.param(backward_weight_), out};
      input_gradient_->execute(*f.stream, {in.data(), adds_ ? 3U : 2U}, {&out, 1}, f.scratch, f.dynamic(pass));
    }
    if (!param_gradient_ || !wants_params(wanted)) return;
    if (bias_alone_) {
      param_gradient_->run(*f.stream, {f.output_gradient(0)}, {f.param_gradient(1)}, f.scratch, f.dynamic(pass));
      return;
    }
    const std::array<const void*, 2> in{f.input(0), f.output_gradient(0)};
    const std::array<void*, 2> out{unused_gradient_ ? f.buffer(*unused_gradient_) : f.param_gradient(0),
                                   bias_gradient_ ? f.param_gradient(1) : nullptr};
    param_gradient_->execute(*f.stream, in, {out.data(), bias_gradient_ ? 2U : 1U}, f.scratch, f.dynamic(pass));
  }

 private:
  Status prepare_feature(Prepare& p, Spec& spec, bool bias) {
    spec.role = Role::feature;
    spec.w = {p.compute(), p.param_shape(0), Format::any()};
    if (bias) spec.b = {DType::f32, p.param_shape(1), {}};
    spec.y = {p.compute(), p.output(0).shape, Format::any()};
    spec.epilogue = p.epilogue();
    DLHOST_ASSIGN(feature_, p.op(spec));
    p.reads(0, feature_->in[0]);
    weight_ = p.uses(0, feature_->in[1]);
    if (bias) bias_ = p.uses(1, spec.b);
    p.gives(0, feature_->out[0]);
    if (spec.epilogue.add && feature_->epilogue_taken) {
      addend_ = p.addend();
      p.reads(*addend_, feature_->in.back());
    }
    return {};
  }

  Status prepare_input_gradient(Prepare& p, Spec spec) {
    spec.role = Role::input_gradient;
    spec.b = TensorDesc{};
    spec.epilogue.add = p.adds_input_gradient(0);
    DLHOST_ASSIGN(input_gradient_, p.op(spec, Role::input_gradient));
    adds_ = spec.epilogue.add && input_gradient_->epilogue_taken;
    if (!adds_) p.leaves_adding(0);
    backward_weight_ = p.uses(0, input_gradient_->in[1]);
    return {};
  }

  // The weight is frozen, or sent as factors: only a sum over rows remains. For a blocked y there is no such op, so the
  // weight's gradient is computed as well and discarded.
  Status prepare_bias_gradient(Prepare& p, const Spec& spec) {
    if (!spec.y.format.is_plain()) return prepare_param_gradient(p, spec, true);
    MapSpec sum;
    sum.expression.result(sum.expression.input(0));
    sum.rows = true;
    sum.in = {spec.y};
    sum.out = {{DType::f32, spec.y.shape, {}}};
    for (std::size_t axis = 0; axis < spec.y.shape.rank(); ++axis)
      if (axis != 1) sum.out[0].shape[axis] = 1;
    DLHOST_ASSIGN(param_gradient_, p.op(sum, Role::param_gradient));
    bias_alone_ = true;
    return {};
  }

  // One op computes both gradients.
  Status prepare_param_gradient(Prepare& p, Spec spec, bool bias) {
    spec.role = Role::param_gradient;
    spec.w = {DType::f32, p.param_shape(0), Format::any()};
    bias_gradient_ = bias && p.wants_param_gradient(1);
    if (!bias_gradient_) spec.b = TensorDesc{};
    DLHOST_ASSIGN(param_gradient_, p.op(spec, Role::param_gradient));
    if (p.wants_param_gradient(0))
      p.gives_gradient(0, param_gradient_->out[0]);
    else
      unused_gradient_ = p.buffer("unused weight gradient", p.device().bytes(param_gradient_->out[0]), Life::scratch);
    return {};
  }

  std::unique_ptr<Op> feature_, input_gradient_, param_gradient_;
  std::size_t weight_ = 0, backward_weight_ = 0;
  std::optional<std::size_t> bias_, addend_, unused_gradient_;
  bool bias_gradient_ = false, bias_alone_ = false;
  bool adds_ = false; // to earlier contributions to the input's gradient
};

} // namespace dlhost::plugins
