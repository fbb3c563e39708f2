#include <dlhost/partition.h>
#include <dlhost/plugin.h>

#include "broadcast.h"

namespace dlhost::plugins {

class Add final : public Layer {
 public:
  static constexpr std::string_view name = "add";
  struct Options {};
  static Schema schema() {
    return SchemaOf<Options>("The sum of its sources. Axes of 1 are repeated where another source has more.");
  }
  explicit Add(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 2, most));
    DLHOST_ASSIGN(const Shape y, broadcast_shape(s));
    s.output("y", y);
    count_ = s.inputs.size();
    s.is_sum = all_alike(s);
    s.in_place = s.input(0) == y;
    s.reads = {.inputs = false, .outputs = false};
    if (s.is_sum)
      for (std::size_t axis = 1; axis < y.rank(); ++axis) s.splits.push_back(split_along(s, axis));
    return {};
  }

  Status prepare(Prepare& p) override {
    DLHOST_TRY(ops_.prepare(p, count_, [this](Expression& sum) {
      Term total = sum.input(0);
      for (std::size_t i = 1; i < count_; ++i) total = total + sum.input(static_cast<std::uint16_t>(i));
      sum.result(total);
    }));
    gradients_.resize(count_);
    for (std::size_t i = 0; p.training() && i < count_; ++i) {
      if (!p.wants_input_gradient(i)) continue;
      MapSpec spec{.in = {ops_.output()}, .out = {ops_.input(p, i)}};
      spec.expression.result(spec.expression.input(0));
      DLHOST_ASSIGN(gradients_[i], p.op(spec, Role::input_gradient));
    }
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f, count_); }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!wants_inputs(wanted)) return;
    // Gradient 0 may overwrite the output's gradient: it comes last, so that the others still read that unchanged.
    for (std::size_t i = count_; i-- > 0;)
      if (gradients_[i] && f.input_gradient(i) != f.output_gradient(0))
        gradients_[i]->run(*f.stream, {f.output_gradient(0)}, {f.input_gradient(i)}, f.scratch, f.dynamic(pass));
  }

 private:
  static constexpr std::size_t most = 64;
  std::size_t count_ = 0;
  Broadcast ops_;
  std::vector<std::unique_ptr<Op>> gradients_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Add);
