// Proof that a layer can be cut into pieces that need one another in the middle: softmax cross-entropy with some
// classes in each piece. The pieces share each row's largest score, its sum of exponentials and the score at its label,
// which one piece has. The companion computes the parts that depend on the label's place.
#include <dlhost/kernel.h>
#include <dlhost/layer.h>
#include <dlhost/partition.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class SplitLoss final : public Layer {
 public:
  static constexpr std::string_view name = "split_loss";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Softmax cross-entropy that can be cut by classes."); }
  explicit SplitLoss(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 2, 2));
    DLHOST_TRY(expect_rank(s, 0, 2, 2));
    s.output("loss", TensorDesc{DType::f32, {2}, {}});
    s.metric({.name = "loss", .output = 0});
    s.is_loss = true;
    s.splits.push_back({.name = "classes",
                        .length = s.input(0)[1],
                        .inputs = {along(1), {}},
                        .params = {},
                        .outputs = {{.need = Split::Need::sum}},
                        .collective = true});
    return {};
  }

  Status prepare(Prepare& p) override {
    const Shape shape = p.input(0).shape;
    rows_ = shape[0];
    const auto piece = p.piece();
    const double first = piece.cuts.empty() ? 0 : static_cast<double>(piece.cuts[0].units.first);
    const TensorDesc x{DType::f32, shape, {}}, row{DType::f32, {rows_, 1}, {}}, one{DType::f32, {1, 1}, {}};
    const TensorDesc& labels = p.input(1);
    p.reads(0, x);
    for (std::size_t* buffer : {&peaks_, &sums_, &scores_})
      *buffer = p.buffer("of each row", row.plain_bytes(), Life::workspace);

    PoolSpec peak{.x = {DType::f32, {rows_, 1, shape[1]}, {}}, .y = {DType::f32, {rows_, 1, 1}, {}}};
    peak.window = peak.stride = {shape[1]};
    peak.pad_low = peak.pad_high = {0};
    peak.training = false;
    DLHOST_ASSIGN(peak_, p.op(peak));
    MapSpec sum{.expression = {}, .in = {x, row}, .out = {row}};
    sum.expression.result(exp(sum.expression.input(0) - sum.expression.input(1)));
    DLHOST_ASSIGN(sum_, p.op(sum));
    DLHOST_ASSIGN(score_, p.kernel({"score", {x, labels, row}, {row}, {first}}));
    MapSpec total{.expression = {}, .in = {row, row}, .out = {one, one}, .rows = true};
    const double share = first == 0 ? 1 : 0; // the pieces' outputs are summed
    total.expression.result(share * (log(total.expression.input(0)) - total.expression.input(1)));
    total.expression.result(total.expression.constant(share));
    DLHOST_ASSIGN(total_, p.op(total));
    DLHOST_ASSIGN(gradient_, p.kernel({"gradient", {x, labels, row, row}, {x}, {first}}, Role::input_gradient));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    const auto dynamic = f.dynamic(pass);
    void *peaks = f.buffer(peaks_), *sums = f.buffer(sums_), *scores = f.buffer(scores_);
    auto* loss = static_cast<float*>(f.output(0));
    peak_->run(*f.stream, {f.input(0)}, {peaks}, f.scratch, dynamic);
    if (f.peers) f.peers->maximum(*f.stream, peaks, rows_);
    sum_->run(*f.stream, {f.input(0), peaks}, {sums}, f.scratch, dynamic);
    score_->run(*f.stream, {f.input(0), f.input(1), peaks}, {scores}, f.scratch, dynamic);
    if (f.peers) f.peers->sum(*f.stream, sums, rows_);
    if (f.peers) f.peers->sum(*f.stream, scores, rows_);
    total_->run(*f.stream, {sums, scores}, {loss, loss + 1}, f.scratch, dynamic);
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!wants_inputs(wanted) || !f.input_gradient(0)) return;
    const auto factor = static_cast<float>(pass.loss_scale / static_cast<double>(pass.global_batch));
    gradient_->run(*f.stream, {f.input(0), f.input(1), f.buffer(peaks_), f.buffer(sums_)}, {f.input_gradient(0)},
                   f.scratch, f.dynamic(pass, {&factor, 1}));
  }

 private:
  std::int64_t rows_ = 0;
  std::size_t peaks_ = 0, sums_ = 0, scores_ = 0;
  std::unique_ptr<Op> peak_, sum_, score_, total_, gradient_;
};

} // namespace

DLHOST_PLUGIN("1.0", SplitLoss);
