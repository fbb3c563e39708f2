#include <dlhost/partition.h>
#include <dlhost/plugin.h>

#include "broadcast.h"

namespace dlhost::plugins {

class Multiply final : public Layer {
 public:
  static constexpr std::string_view name = "multiply";
  struct Options {};
  static Schema schema() {
    return SchemaOf<Options>("The product of its sources, element by element. Axes of 1 are repeated where another "
                             "source has more.");
  }
  explicit Multiply(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 2, most));
    DLHOST_ASSIGN(const Shape y, broadcast_shape(s));
    s.output("y", y);
    count_ = s.inputs.size();
    if (all_alike(s))
      for (std::size_t axis = 1; axis < y.rank(); ++axis) s.splits.push_back(split_along(s, axis));
    return {};
  }

  Status prepare(Prepare& p) override {
    DLHOST_TRY(ops_.prepare(p, count_, [this](Expression& product) {
      Term total = product.input(0);
      for (std::size_t i = 1; i < count_; ++i) total = total * product.input(static_cast<std::uint16_t>(i));
      product.result(total);
    }));
    gradients_.resize(count_);
    for (std::size_t i = 0; p.training() && i < count_; ++i)
      if (p.wants_input_gradient(i)) DLHOST_TRY(prepare_gradient(p, i));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f, count_); }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!wants_inputs(wanted)) return;
    std::array<const void*, most + 1> in{f.output_gradient(0)};
    for (std::size_t i = 0; i < count_; ++i) {
      if (!gradients_[i]) continue;
      for (std::size_t j = 0, next = 1; j < count_; ++j)
        if (j != i) in[next++] = f.input(j);
      void* out = f.input_gradient(i);
      gradients_[i]->execute(*f.stream, {in.data(), count_}, {&out, 1}, f.scratch, f.dynamic(pass));
    }
  }

 private:
  // In {dy, the other inputs} out {dx of input i}: their product.
  Status prepare_gradient(Prepare& p, std::size_t i) {
    MapSpec spec{.in = {ops_.output()}, .out = {ops_.input(p, i)}, .rows = true};
    Term product = spec.expression.input(0);
    for (std::size_t j = 0; j < count_; ++j) {
      if (j == i) continue;
      product = product * spec.expression.input(static_cast<std::uint16_t>(spec.in.size()));
      spec.in.push_back(ops_.input(p, j));
    }
    spec.expression.result(product);
    DLHOST_ASSIGN(gradients_[i], p.op(spec, Role::input_gradient));
    return {};
  }

  static constexpr std::size_t most = 16;
  std::size_t count_ = 0;
  Broadcast ops_;
  std::vector<std::unique_ptr<Op>> gradients_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Multiply);
