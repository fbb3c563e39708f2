// A loss that sums over the elements of a sample: each layer defines the function of a score and its target, and its
// derivative; the rest is here. src = [scores, targets].
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "loss.h"

namespace dlhost::plugins {

class ElementwiseLoss : public Layer {
 public:
  Status setup(Setup& s) final {
    DLHOST_TRY(expect_inputs(s, 2, 2));
    DLHOST_TRY(expect_rank(s, 0, 2));
    DLHOST_TRY(expect_targets(s));
    declare_loss(s);
    s.reads = {.inputs = true, .outputs = false};
    return {};
  }

  Status prepare(Prepare& p) final {
    DLHOST_TRY(expect_given(p, 1));
    x_ = {DType::f32, p.input(0).shape, {}};
    const TensorDesc target{DType::f32, target_shape(x_.shape), {}};
    p.reads(0, x_);
    p.reads(1, {DType::f32, p.input(1).shape, {}});
    const TensorDesc single{DType::f32, {}, {}};
    MapSpec spec{.in = {x_, target}, .out = {single}, .rows = true};
    DLHOST_TRY(more_inputs(p, spec.in));
    spec.expression.result(loss(spec.expression));
    DLHOST_ASSIGN(sum_, p.op(spec));
    MapSpec weight{.out = {single}};
    weight.expression.result(weight.expression.scalar(0));
    DLHOST_ASSIGN(weight_, p.op(weight));
    if (!p.training() || !p.wants_input_gradient(0)) return {};
    MapSpec back{.in = spec.in, .out = {x_}};
    back.expression.result(gradient(back.expression) * back.expression.scalar(0));
    DLHOST_ASSIGN(gradient_, p.op(back, Role::input_gradient));
    device_ = &p.device();
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const final {
    auto* total = static_cast<float*>(f.output(0));
    const std::array<const void*, 3> in{f.input(0), f.input(1), more_.data()};
    void* sum = total;
    sum_->execute(*f.stream, {in.data(), inputs()}, {&sum, 1}, f.scratch, f.dynamic(pass));
    const auto counted = static_cast<float>(std::min(pass.valid, x_.shape[0]));
    weight_->run(*f.stream, {}, {total + 1}, f.scratch, f.dynamic(pass, {&counted, 1}));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const final {
    if (!gradient_ || !wants_inputs(wanted)) return;
    const std::array<const void*, 3> in{f.input(0), f.input(1), more_.data()};
    void* dx = f.input_gradient(0);
    const float factor = gradient_factor(weight(), pass, 1);
    gradient_->execute(*f.stream, {in.data(), inputs()}, {&dx, 1}, f.scratch, f.dynamic(pass, {&factor, 1}));
    clear_rows_that_do_not_count(pass, f);
  }

 protected:
  virtual double weight() const = 0;
  // The loss of one element: input 0 is the score, input 1 its target.
  virtual Term loss(Expression&) const = 0;
  virtual Term gradient(Expression&) const = 0; // d loss / d score

  virtual Status expect_targets(const Setup& s) const {
    if (s.input(0).count() == s.input(1).count() && s.input(0)[0] == s.input(1)[0]) return {};
    return Status::invalid("wants a target for each element of ", s.inputs[0].name, " (", to_string(s.input(0)),
                           "), but ", s.inputs[1].name, " is ", to_string(s.input(1)));
  }
  // The shape of the targets beside the scores; an axis of 1 is repeated.
  virtual Shape target_shape(const Shape& scores) const { return scores; }
  // Adds a third, constant tensor as input 2 of the function: into more_ and the list.
  virtual Status more_inputs(Prepare& p, std::vector<TensorDesc>& in) {
    (void)p, (void)in;
    return {};
  }

  Memory more_;

 private:
  std::size_t inputs() const { return more_.size() != 0 ? 3 : 2; }

  void clear_rows_that_do_not_count(const Pass& pass, Frame& f) const {
    const std::int64_t rest = x_.shape[0] - pass.valid;
    if (rest <= 0) return;
    const std::int64_t row = x_.shape.past(1) * static_cast<std::int64_t>(sizeof(float));
    device_
        ->fill_zero(*f.stream, static_cast<std::byte*>(f.input_gradient(0)) + pass.valid * row,
                    static_cast<std::size_t>(rest * row))
        .ignore("a stream keeps its first error for the next wait");
  }

  TensorDesc x_;
  Device* device_ = nullptr;
  std::unique_ptr<Op> sum_, weight_, gradient_;
};

} // namespace dlhost::plugins
