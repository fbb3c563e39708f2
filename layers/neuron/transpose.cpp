#include <algorithm>

#include <dlhost/layer.h>
#include <dlhost/partition.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Transpose final : public Layer {
 public:
  static constexpr std::string_view name = "transpose";
  struct Options {
    std::vector<std::int64_t> order;
  };
  static Schema schema() {
    return SchemaOf<Options>("A sample's axes in another order.")
        .required("order", &Options::order, at_least(1),
                  "for each axis after the batch, which axis of the source it is: [2, 3, 1] moves channels to the end");
  }
  explicit Transpose(Options options) : options_(std::move(options)) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2));
    const Shape& x = s.input(0);
    auto sorted = options_.order;
    std::ranges::sort(sorted);
    bool whole = sorted.size() + 1 == x.rank();
    for (std::size_t i = 0; whole && i < sorted.size(); ++i) whole = sorted[i] == static_cast<std::int64_t>(i) + 1;
    if (!whole)
      return Status::invalid("order must name each of the axes 1 to ", x.rank() - 1, " of the source (", to_string(x),
                             ") once");
    order_.assign(1, 0);
    Shape y{x[0]};
    for (const std::int64_t axis : options_.order) {
      order_.push_back(static_cast<std::size_t>(axis));
      y.push_back(x[order_.back()]);
      s.splits.push_back({.name = axis_name(y.rank() - 1),
                          .length = y[y.rank() - 1],
                          .inputs = {along(order_.back())},
                          .params = {},
                          .outputs = {along(y.rank() - 1)}});
    }
    s.output("y", TensorDesc{s.inputs[0].desc.dtype, y, {}});
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }

  Status prepare(Prepare& p) override {
    TransposeSpec spec;
    spec.src = p.input(0).as(Format::plain());
    spec.dst = {spec.src.dtype, p.output(0).shape, {}};
    spec.order = order_;
    p.reads(0, spec.src);
    DLHOST_ASSIGN(feature_, p.op(spec));
    if (!p.training() || !p.wants_input_gradient(0)) return {};
    std::swap(spec.src, spec.dst);
    for (std::size_t axis = 0; axis < order_.size(); ++axis) spec.order[order_[axis]] = axis;
    DLHOST_ASSIGN(gradient_, p.op(spec, Role::input_gradient));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    feature_->run(*f.stream, {f.input(0)}, {f.output(0)}, f.scratch, f.dynamic(pass));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!gradient_ || !wants_inputs(wanted)) return;
    gradient_->run(*f.stream, {f.output_gradient(0)}, {f.input_gradient(0)}, f.scratch, f.dynamic(pass));
  }

 private:
  Options options_;
  std::vector<std::size_t> order_;
  std::unique_ptr<Op> feature_, gradient_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Transpose);
