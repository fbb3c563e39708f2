// The two ops of a layer from x to y without params (pooling, local response normalisation, softmax), and the workspace
// between them. Spec has role, x and y; x keeps the producer's form.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <dlhost/layer.h>

namespace dlhost::plugins {

template <class Spec> class OpPair {
 public:
  Status prepare(Prepare& p, Spec spec) {
    const bool wanted = p.training() && p.wants_input_gradient(0);
    if constexpr (requires { spec.training; }) spec.training = wanted;
    spec.x = p.input(0).as(p.compute());
    spec.y = {p.compute(), p.output(0).shape, Format::any()};
    DLHOST_ASSIGN(feature_, p.op(spec));
    p.reads(0, feature_->in[0]);
    p.gives(0, feature_->out[0]);
    if (feature_->workspace_bytes != 0) workspace_ = p.buffer("workspace", feature_->workspace_bytes, Life::workspace);
    if (!wanted) return {};
    spec.role = Role::input_gradient;
    spec.x = feature_->in[0];
    spec.y = feature_->out[0];
    DLHOST_ASSIGN(gradient_, p.op(spec, Role::input_gradient));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const {
    const void* x = f.input(0);
    std::array<void*, 2> out{f.output(0)};
    if (workspace_) out[1] = f.buffer(*workspace_);
    feature_->execute(*f.stream, {&x, 1}, {out.data(), workspace_ ? 2U : 1U}, f.scratch, f.dynamic(pass));
  }

  // `in`: the gradient op's inputs without the workspace.
  template <std::size_t count>
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted, const std::array<const void*, count>& in) const {
    if (!gradient_ || !wants_inputs(wanted)) return;
    std::array<const void*, count + 1> all;
    std::copy(in.begin(), in.end(), all.begin());
    all[count] = workspace_ ? f.buffer(*workspace_) : nullptr;
    void* dx = f.input_gradient(0);
    gradient_->execute(*f.stream, {all.data(), workspace_ ? count + 1 : count}, {&dx, 1}, f.scratch, f.dynamic(pass));
  }

 private:
  std::unique_ptr<Op> feature_, gradient_;
  std::optional<std::size_t> workspace_;
};

} // namespace dlhost::plugins
