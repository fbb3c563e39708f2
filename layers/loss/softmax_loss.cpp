#include <array>

#include <dlhost/plugin.h>

#include "labels.h"
#include "loss.h"

namespace dlhost::plugins {

class SoftmaxLoss final : public Layer {
 public:
  static constexpr std::string_view name = "softmax_loss";
  struct Options : LossOptions {
    double smoothing = 0;
    std::vector<double> class_weights;
    std::int64_t ignored = -1;
    bool by_valid = false;
  };
  static Schema schema() {
    return weighted(
        SchemaOf<Options>("Softmax over axis 1, then the cross-entropy with labels. src = [scores, labels].")
            .option("smoothing", &Options::smoothing, "share of the label's mass that is spread over all classes",
                    from_below(0, 1))
            .option("class_weights", &Options::class_weights, "a factor on the loss for each class; empty: all 1",
                    at_least(0))
            .option("ignore_label", &Options::ignored, "samples and places with this label do not count")
            .choice("normalize", &Options::by_valid, {{"batch", false}, {"valid", true}},
                    "the divisor of the gradient: the batch and its places, or the labels that count, of each "
                    "worker's own part of the batch: with class_weights, their weights"));
  }
  explicit SoftmaxLoss(Options options) : options_(std::move(options)) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 2, 2));
    DLHOST_TRY(expect_labels(s, 0, 1));
    const std::int64_t classes = s.input(0)[1];
    const auto weights = static_cast<std::int64_t>(options_.class_weights.size());
    if (weights != 0 && weights != classes)
      return Status::invalid("class_weights has ", weights, " numbers, but ", s.inputs[0].name, " has ", classes,
                             " classes");
    declare_loss(s);
    s.output("probabilities", TensorDesc{DType::f32, s.input(0), {}});
    s.reads = {.inputs = true, .outputs = true};
    return {};
  }

  Status prepare(Prepare& p) override {
    DLHOST_TRY(expect_given(p, 1));
    SoftmaxLossSpec spec;
    spec.x = {DType::f32, p.input(0).shape, {}};
    spec.smoothing = options_.smoothing;
    spec.ignored = options_.ignored;
    spec.class_weights = !options_.class_weights.empty();
    p.reads(0, spec.x);
    p.reads(1, {DType::i32, p.input(1).shape, {}});
    places_ = places(spec.x.shape);
    if (spec.class_weights) {
      DLHOST_ASSIGN(weights_, constant(p.device(), {options_.class_weights.begin(), options_.class_weights.end()}));
    }
    DLHOST_ASSIGN(feature_, p.op(spec));
    if (!p.training() || !p.wants_input_gradient(0)) return {};
    spec.role = Role::input_gradient;
    DLHOST_ASSIGN(gradient_, p.op(spec, Role::input_gradient));
    return options_.by_valid ? prepare_mean(p, spec.x) : Status();
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    const std::array<const void*, 3> in{f.input(0), f.input(1), weights_.data()};
    const std::array<void*, 2> out{f.output(1), f.output(0)};
    feature_->execute(*f.stream, {in.data(), inputs()}, out, f.scratch, f.dynamic(pass));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!gradient_ || !wants_inputs(wanted)) return;
    const std::array<const void*, 3> in{f.output(1), f.input(1), weights_.data()};
    void* out = f.input_gradient(0);
    const float factor = gradient_factor(options_.weight, pass, options_.by_valid ? 1 : places_);
    gradient_->execute(*f.stream, {in.data(), inputs()}, {&out, 1}, f.scratch, f.dynamic(pass, {&factor, 1}));
    if (!mean_) return;
    const void* counted = static_cast<const float*>(f.output(0)) + 1;
    mean_->run(*f.stream, {out, counted}, {out}, f.scratch, f.dynamic(pass));
  }

 private:
  // Divides this part's share of the global batch by the weight of its counted labels; without counted labels the
  // gradient is 0.
  Status prepare_mean(Prepare& p, const TensorDesc& x) {
    MapSpec spec{.in = {x, {DType::f32, {}, {}}}, .out = {x}};
    Expression& e = spec.expression;
    e.result(e.input(0) * static_cast<double>(x.shape[0]) / max(e.input(1), 1e-30));
    DLHOST_ASSIGN(mean_, p.op(spec, Role::input_gradient));
    return {};
  }

  std::size_t inputs() const { return weights_.size() != 0 ? 3 : 2; }

  Options options_;
  std::int64_t places_ = 1;
  Memory weights_;
  std::unique_ptr<Op> feature_, gradient_, mean_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::SoftmaxLoss);
