#include <stdexcept>

#include <dlhost/plugin.h>

#include "norm.h"

namespace dlhost::plugins {

class BatchNorm final : public Layer {
 public:
  static constexpr std::string_view name = "batch_norm";
  struct Options {
    double epsilon = 1e-5;
    double momentum = 0.1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Batch normalisation of each channel (axis 1). In training by the statistics of the "
                             "batch, of each worker's own part of it: local; else by their running means.")
        .option("epsilon", &Options::epsilon, "is added to the variance", above(0))
        .option("momentum", &Options::momentum, "share of a batch's statistics in the new running means",
                between(0, 1));
  }
  explicit BatchNorm(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2));
    const Shape channels{s.input(0)[1]};
    training_ = s.phase == Phase::train;
    DLHOST_TRY(check_values(s.input(0)));
    NormSpec spec;
    spec.kind = NormSpec::Kind::batch;
    spec.epsilon = options_.epsilon;
    spec.given_statistics = !training_;
    ops_.setup(s, spec);
    const TensorDesc desc{DType::f32, channels, {}};
    running_mean_ = s.buffer({.name = "running_mean", .desc = desc, .life = Life::running, .merge = Merge::mean});
    running_variance_ =
        s.buffer({.name = "running_variance", .desc = desc, .life = Life::running, .merge = Merge::mean, .initial = 1});
    return {};
  }

  Status prepare(Prepare& p) override {
    DLHOST_TRY(ops_.prepare(p));
    const Shape& x = p.input(0).shape;
    DLHOST_TRY(check_values(x)); // of a worker's own part
    places_ = x.count() / (x[0] * x[1]);
    return training_ ? prepare_running(p) : Status();
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    void* mean = f.buffer(running_mean_);
    void* variance = f.buffer(running_variance_);
    if (!training_) return ops_.compute_feature(pass, f, {mean, variance});
    if (pass.valid * places_ == 1)
      throw std::domain_error(concat(one_value,
                                     "in the last batch of the epoch, which is not full: say train.last_batch = "
                                     "\"drop\" or \"wrap\""));
    ops_.compute_feature(pass, f);
    const auto counted = static_cast<float>(pass.valid * places_);
    const float unbiased = counted > 1 ? counted / (counted - 1) : 1;
    running_->run(*f.stream, {mean, ops_.mean(f), variance, ops_.variance(f)}, {mean, variance}, f.scratch,
                  f.dynamic(pass, {&unbiased, 1}));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    ops_.compute_gradient(pass, f, wanted);
  }

 private:
  static constexpr std::string_view one_value =
      "trains on one value for each channel, whose variance is 0, so that every output would be the shift: ";

  Status check_values(const Shape& x) const {
    if (!training_ || x.count() != x[1]) return {};
    return Status::invalid(one_value, "its input is ", to_string(x),
                           "; make train.batch larger, so that each worker gets "
                           "two samples or more, or put the layer where its input has several places");
  }

  Status prepare_running(Prepare& p) {
    const TensorDesc desc{DType::f32, p.param_shape(0), {}};
    MapSpec spec;
    Expression& update = spec.expression;
    const Term mean = update.input(0), batch_mean = update.input(1);
    const Term variance = update.input(2), batch_variance = update.input(3) * update.scalar(0);
    update.result(mean + options_.momentum * (batch_mean - mean));
    update.result(variance + options_.momentum * (batch_variance - variance));
    spec.in.assign(4, desc);
    spec.out.assign(2, desc);
    DLHOST_ASSIGN(running_, p.op(spec));
    return {};
  }

  Options options_;
  bool training_ = true;
  std::int64_t places_ = 1;
  std::size_t running_mean_ = 0, running_variance_ = 0;
  NormOps ops_;
  std::unique_ptr<Op> running_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::BatchNorm);
