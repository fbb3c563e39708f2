#include <dlhost/partition.h>
#include <dlhost/plugin.h>

#include "pieces.h"

namespace dlhost::plugins {

class Concat final : public Layer {
 public:
  static constexpr std::string_view name = "concat";
  struct Options : PiecesOptions {};
  static Schema schema() {
    return along_axis(SchemaOf<Options>("Its sources, one after the other along an axis."), "along which");
  }
  explicit Concat(Options options) : axis_(static_cast<std::size_t>(options.axis)) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, most));
    DLHOST_TRY(expect_rank(s, 0, axis_ + 1));
    Shape y = s.input(0);
    for (std::size_t i = 1; i < s.inputs.size(); ++i) {
      const Shape& x = s.input(i);
      if (x.rank() != y.rank() || x.with(axis_, 0) != y.with(axis_, 0))
        return Status::invalid("takes sources that differ in axis ", axis_, " only, but ", s.inputs[0].name, " is ",
                               to_string(s.input(0)), " and ", s.inputs[i].name, " is ", to_string(x));
      y[axis_] += x[axis_];
    }
    dtype_ = kept_dtype(s);
    s.output("y", TensorDesc{dtype_, y, {}});
    s.reads = {.inputs = false, .outputs = false};
    for (std::size_t axis = 1; axis < y.rank(); ++axis)
      if (axis != axis_) s.splits.push_back(split_along(s, axis));
    count_ = s.inputs.size();
    return {};
  }

  Status prepare(Prepare& p) override {
    const TensorDesc y{dtype_, p.output(0).shape, {}};
    std::vector<TensorDesc> x;
    for (std::size_t i = 0; i < count_; ++i) {
      x.push_back({dtype_, p.input(i).shape, {}});
      p.reads(i, x.back());
    }
    DLHOST_TRY(join_.prepare(p, Pieces::Way::join, Role::feature, y, axis_, x, 0, every_piece));
    if (!p.training()) return {};
    return cut_.prepare(p, Pieces::Way::cut, Role::input_gradient, y, axis_, x, 0,
                        [&p](std::size_t i) { return p.wants_input_gradient(i); });
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    for (std::size_t i = 0; i < join_.count(); ++i) join_.copy(i, pass, f, f.input(i), f.output(0));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!wants_inputs(wanted)) return;
    for (std::size_t i = 0; i < cut_.count(); ++i) cut_.copy(i, pass, f, f.output_gradient(0), f.input_gradient(i));
  }

 private:
  static constexpr std::size_t most = 1024;
  std::size_t axis_;
  std::size_t count_ = 0;
  DType dtype_ = DType::f32;
  Pieces join_, cut_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Concat);
