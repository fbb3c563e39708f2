#include <algorithm>

#include <dlhost/plugin.h>

#include "labels.h"

namespace dlhost::plugins {

class Confusion final : public Layer {
 public:
  static constexpr std::string_view name = "confusion";
  struct Options {
    std::int64_t ignored = -1;
  };
  static Schema schema() {
    return SchemaOf<Options>("How often each class (row) was taken for each (column) by the highest score of axis 1. "
                             "src = [scores, labels].")
        .option("ignored", &Options::ignored, "samples and places with this label do not count");
  }
  explicit Confusion(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 2, 2));
    DLHOST_TRY(expect_labels(s, 0, 1));
    const std::int64_t classes = s.input(0)[1];
    s.output("confusion", TensorDesc{DType::f32, {classes, classes}, {}});
    s.metric({.name = "confusion", .table = true});
    s.host = true;
    s.has_gradient = false;
    return {};
  }

  Status prepare(Prepare& p) override {
    shape_ = p.input(0).shape;
    p.reads(0, {DType::f32, shape_, {}});
    p.reads(1, {DType::i32, p.input(1).shape, {}});
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    const auto* scores = static_cast<const float*>(f.input(0));
    const auto* labels = static_cast<const std::int32_t*>(f.input(1));
    auto* table = static_cast<float*>(f.output(0));
    const std::int64_t classes = shape_[1];
    const std::int64_t inner = places(shape_);
    std::fill_n(table, classes * classes, 0.0F);
    for (std::int64_t i = 0; i < std::min(pass.valid, shape_[0]) * inner; ++i) {
      const std::int64_t label = labels[i];
      if (label == options_.ignored || label < 0 || label >= classes) continue;
      const float* first = scores + i / inner * classes * inner + i % inner;
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes; ++c)
        if (first[c * inner] > first[best * inner]) best = c;
      ++table[label * classes + best];
    }
  }

 private:
  Options options_;
  Shape shape_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Confusion);
