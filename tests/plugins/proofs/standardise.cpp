// Proof that a layer can get statistics of the whole batch from parts with different numbers of rows: each feature less
// its mean, over its standard deviation, as in a synchronised batch norm.
#include <dlhost/layer.h>
#include <dlhost/partition.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Standardise final : public Layer {
 public:
  static constexpr std::string_view name = "standardise";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Features of mean 0 and variance 1, over the whole batch."); }
  explicit Standardise(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2, 2));
    s.output("y", TensorDesc{DType::f32, s.input(0), {}});
    s.reads = {.inputs = false, .outputs = true};
    s.whole_batch = true;
    s.splits.push_back(split_along(s, 0));
    s.splits.back().collective = true;
    return {};
  }

  Status prepare(Prepare& p) override {
    const Shape shape = p.input(0).shape;
    features_ = shape[1];
    const TensorDesc x{DType::f32, shape, {}}, each{DType::f32, {1, features_}, {}};
    p.reads(0, x);
    for (std::size_t* buffer : {&counts_, &sums_, &squares_})
      *buffer = p.buffer("of each feature", each.plain_bytes(), Life::workspace);
    for (std::size_t* buffer : {&slopes_, &tilts_})
      *buffer = p.buffer("of each feature's gradient", each.plain_bytes(), Life::scratch);

    MapSpec sum{.expression = {}, .in = {x}, .out = {each, each}, .rows = true};
    sum.expression.result(sum.expression.constant(1));
    sum.expression.result(sum.expression.input(0));
    DLHOST_ASSIGN(sum_, p.op(sum));
    MapSpec square{.expression = {}, .in = {x, each, each}, .out = {each}, .rows = true};
    const Term distance = from_mean(square.expression);
    square.expression.result(distance * distance);
    DLHOST_ASSIGN(square_, p.op(square));
    MapSpec feature{.expression = {}, .in = {x, each, each, each}, .out = {x}};
    const Term apart = from_mean(feature.expression);
    feature.expression.result(apart / deviation(feature.expression));
    DLHOST_ASSIGN(feature_, p.op(feature));
    return prepare_gradient(p, x, each);
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    const auto dynamic = f.dynamic(pass);
    void *counts = f.buffer(counts_), *sums = f.buffer(sums_), *squares = f.buffer(squares_);
    sum_->run(*f.stream, {f.input(0)}, {counts, sums}, f.scratch, dynamic);
    if (f.peers) f.peers->sum(*f.stream, counts, features_);
    if (f.peers) f.peers->sum(*f.stream, sums, features_);
    square_->run(*f.stream, {f.input(0), counts, sums}, {squares}, f.scratch, dynamic);
    if (f.peers) f.peers->sum(*f.stream, squares, features_);
    feature_->run(*f.stream, {f.input(0), counts, sums, squares}, {f.output(0)}, f.scratch, dynamic);
  }

  // The gradient of rows that do not count is not 0: a layer to train with would set it.
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!wants_inputs(wanted) || !f.input_gradient(0)) return;
    const auto dynamic = f.dynamic(pass);
    void *slopes = f.buffer(slopes_), *tilts = f.buffer(tilts_);
    slope_->run(*f.stream, {f.output(0), f.output_gradient(0)}, {slopes, tilts}, f.scratch, dynamic);
    if (f.peers) f.peers->sum(*f.stream, slopes, features_);
    if (f.peers) f.peers->sum(*f.stream, tilts, features_);
    gradient_->run(*f.stream, {f.output(0), f.buffer(counts_), f.output_gradient(0), f.buffer(squares_), slopes, tilts},
                   {f.input_gradient(0)}, f.scratch, dynamic);
  }

 private:
  // For an expression over {x, counts, sums}.
  static Term from_mean(Expression& e) { return e.input(0) - e.input(2) / e.input(1); }
  // For an expression with the counts as input 1, and the squares as input 3.
  static Term deviation(Expression& e) { return sqrt(e.input(3) / e.input(1) + 1e-5); }

  Status prepare_gradient(Prepare& p, const TensorDesc& x, const TensorDesc& each) {
    MapSpec slope{.expression = {}, .in = {x, x}, .out = {each, each}, .rows = true};
    {
      const Term y = slope.expression.input(0), dy = slope.expression.input(1);
      slope.expression.result(dy);
      slope.expression.result(dy * y);
    }
    DLHOST_ASSIGN(slope_, p.op(slope, Role::input_gradient));
    MapSpec gradient{.expression = {}, .in = {x, each, x, each, each, each}, .out = {x}};
    {
      Expression& e = gradient.expression;
      const Term y = e.input(0), count = e.input(1), dy = e.input(2);
      e.result((dy - (e.input(4) + y * e.input(5)) / count) / deviation(e));
    }
    DLHOST_ASSIGN(gradient_, p.op(gradient, Role::input_gradient));
    return {};
  }

  std::int64_t features_ = 0;
  std::size_t counts_ = 0, sums_ = 0, squares_ = 0, slopes_ = 0, tilts_ = 0;
  std::unique_ptr<Op> sum_, square_, feature_, slope_, gradient_;
};

} // namespace

DLHOST_PLUGIN("1.0", Standardise);
