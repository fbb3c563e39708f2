// The ops of normalising layers: statistics, scale and shift in one pass, plus fused layers. Input 0, output 0; param 0
// is the scale, param 1 the shift (not for RMS norm).
#pragma once

#include <array>
#include <memory>
#include <optional>

#include <dlhost/layer.h>

namespace dlhost::plugins {

class NormOps {
 public:
  // Declares the params. `spec`: complete except x, y and epilogue.
  void setup(Setup& s, const NormSpec& spec) {
    spec_ = spec;
    spec_.x.shape = s.input(0);
    s.output("y", s.input(0));
    s.param({.name = "scale", .shape = spec_.params(), .init = {"constant", {.entries = {{"value", {1.0, {}}}}}}});
    if (shifts()) s.param({.name = "shift", .shape = spec_.params(), .init = {"constant", {}}});
  }

  Status prepare(Prepare& p) {
    NormSpec spec = spec_;
    spec.x = p.input(0).as(p.compute());
    const bool by_channel = spec.kind == NormSpec::Kind::batch || spec.kind == NormSpec::Kind::group;
    if (!by_channel) spec.x.format = Format::plain(); // elements normalised together must be contiguous
    spec.y = spec.x.as(Format::any());
    spec.epilogue = p.epilogue();
    DLHOST_ASSIGN(feature_, p.op(spec));
    p.reads(0, feature_->in[0]);
    p.gives(0, feature_->out[0]);
    if (!spec.given_statistics) {
      const std::size_t bytes = p.device().bytes({DType::f32, spec.statistics(), {}});
      if (shifts()) mean_ = p.buffer("mean", bytes, Life::workspace);
      variance_ = p.buffer(shifts() ? "variance" : "square", bytes, Life::workspace);
    }
    for (std::size_t i = 0; i < params(); ++i) params_[i] = p.uses(i, {DType::f32, p.param_shape(i), {}});
    if (!feature_->epilogue_taken) spec.epilogue = {};
    if (spec.epilogue.add) {
      addend_ = p.addend();
      p.reads(*addend_, feature_->in.back());
    }
    if (feature_->workspace_bytes != 0) workspace_ = p.buffer("workspace", feature_->workspace_bytes, Life::workspace);
    if (p.training()) DLHOST_TRY(prepare_gradient(p, spec));
    if (!spec.epilogue.empty()) p.takes_epilogue_gradient(reads_y_);
    return {};
  }

  // `given`: mean and variance, for a spec with given statistics.
  void compute_feature(const Pass& pass, Frame& f, std::array<const void*, 2> given = {}) const {
    std::array<const void*, 6> in{f.input(0)};
    std::size_t ins = 1;
    for (std::size_t i = 0; i < params(); ++i) in[ins++] = f.param(params_[i]);
    if (spec_.given_statistics)
      for (const void* statistic : given) in[ins++] = statistic;
    if (addend_) in[ins++] = f.input(*addend_);
    std::array<void*, 4> out{f.output(0)};
    std::size_t outs = 1;
    if (!spec_.given_statistics) {
      if (shifts()) out[outs++] = mean(f);
      out[outs++] = variance(f);
      if (workspace_) out[outs++] = f.buffer(*workspace_);
    }
    feature_->execute(*f.stream, {in.data(), ins}, {out.data(), outs}, f.scratch, f.dynamic(pass));
  }

  // One op computes all gradients. If only the inputs' are wanted, the params' are kept for the later call.
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const {
    if (!gradient_) return;
    if (wanted == Wanted::params && !unused_dx_) return hand_over_param_gradients(pass, f);
    std::array<const void*, 8> in{f.input(0), f.output_gradient(0)};
    std::size_t ins = 2;
    for (std::size_t i = 0; i < params(); ++i) in[ins++] = f.param(params_[i]);
    if (shifts()) in[ins++] = mean(f);
    in[ins++] = variance(f);
    if (reads_y_) in[ins++] = f.output(0);
    if (workspace_) in[ins++] = f.buffer(*workspace_);
    std::array<void*, 4> out{unused_dx_ ? f.buffer(*unused_dx_) : f.input_gradient(0)};
    std::size_t outs = 1;
    for (std::size_t i = 0; i < params(); ++i) {
      void* own = wants_params(wanted) ? f.param_gradient(i) : nullptr;
      out[outs++] = own ? own : f.buffer(kept_[i]);
    }
    if (addend_) out[outs++] = unused_daddend_ ? f.buffer(*unused_daddend_) : f.input_gradient(*addend_);
    gradient_->execute(*f.stream, {in.data(), ins}, {out.data(), outs}, f.scratch, f.dynamic(pass));
  }

  void* mean(const Frame& f) const { return f.buffer(mean_); }
  void* variance(const Frame& f) const { return f.buffer(variance_); } // for RMS norm the mean square

 private:
  bool shifts() const { return spec_.kind != NormSpec::Kind::rms; }
  std::size_t params() const { return shifts() ? 2 : 1; }

  Status prepare_gradient(Prepare& p, NormSpec spec) {
    bool wanted = p.wants_input_gradient(0) || (addend_ && p.wants_input_gradient(*addend_));
    for (std::size_t i = 0; i < params(); ++i) wanted = wanted || p.wants_param_gradient(i);
    if (!wanted) return {};
    spec.role = Role::input_gradient;
    spec.x = feature_->in[0];
    spec.y = feature_->out[0];
    DLHOST_ASSIGN(gradient_, p.op(spec, Role::input_gradient));
    const std::size_t without_y = shifts() ? 6 : 4;
    reads_y_ = gradient_->in.size() > without_y;
    if (!spec.epilogue.empty() && !gradient_->epilogue_taken)
      return Status::unsupported("the device fuses the layers behind this norm into its feature, but not into its "
                                 "gradient: set train.fuse = false");
    Device& device = p.device();
    if (!p.wants_input_gradient(0)) unused_dx_ = p.buffer("unused gradient", device.bytes(spec.x), Life::scratch);
    if (addend_ && !p.wants_input_gradient(*addend_))
      unused_daddend_ = p.buffer("unused addend gradient", device.bytes(spec.y), Life::scratch);
    const TensorDesc param{DType::f32, p.param_shape(0), {}};
    kept_[0] = p.buffer("kept scale gradient", device.bytes(param), Life::workspace);
    if (shifts()) kept_[1] = p.buffer("kept shift gradient", device.bytes(param), Life::workspace);
    DLHOST_ASSIGN(copy_, p.op(ReorderSpec{param, param}, Role::param_gradient));
    return {};
  }

  void hand_over_param_gradients(const Pass& pass, Frame& f) const {
    for (std::size_t i = 0; i < params(); ++i)
      if (void* own = f.param_gradient(i))
        copy_->run(*f.stream, {f.buffer(kept_[i])}, {own}, f.scratch, f.dynamic(pass));
  }

  NormSpec spec_;
  bool reads_y_ = false;
  std::size_t mean_ = 0, variance_ = 0;
  std::array<std::size_t, 2> params_{}, kept_{};
  std::optional<std::size_t> addend_, workspace_, unused_dx_, unused_daddend_;
  std::unique_ptr<Op> feature_, gradient_, copy_;
};

} // namespace dlhost::plugins
