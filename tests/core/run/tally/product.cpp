// A net that counts like `tally`, with the gradient of a dense layer, which is a product: element i of its weight,
// [units, columns], is the number of updates that contain sample i.
//
//   marks    x[n, c] is 1 where c is the sample's column
//   counts   a loss that wants the sample's unit to grow by one
#include <algorithm>

#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

struct Options {
  std::int64_t columns = 0;
};

Schema schema_of(std::string help) {
  return SchemaOf<Options>(std::move(help))
      .required("columns", &Options::columns, at_least(1), "of the weight whose elements stand for samples");
}

class Marks final : public Layer {
 public:
  static constexpr std::string_view name = "marks";
  using Options = ::Options;
  static Schema schema() { return schema_of("The column of each sample, as a row with a one."); }
  explicit Marks(Options options) : columns_(options.columns) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    s.output("x", TensorDesc{DType::f32, {s.input(0)[0], columns_}, {}});
    s.has_gradient = false;
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }
  Status prepare(Prepare& p) override {
    p.reads(0, {DType::f32, p.input(0).shape, {}});
    return {};
  }
  void compute_feature(const Pass& pass, Frame& f) const override {
    auto* x = static_cast<float*>(f.output(0));
    std::fill_n(x, static_cast<std::int64_t>(pass.samples.size()) * columns_, 0.0F);
    for (std::size_t row = 0; row < pass.samples.size(); ++row)
      x[static_cast<std::int64_t>(row) * columns_ + pass.samples[row] % columns_] = 1;
  }

 private:
  std::int64_t columns_;
};

class Counts final : public Layer {
 public:
  static constexpr std::string_view name = "counts";
  using Options = ::Options;
  static Schema schema() { return schema_of("Counts samples."); }
  explicit Counts(Options options) : columns_(options.columns) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2, 2));
    s.output("loss", TensorDesc{DType::f32, {2}, {}});
    s.metric({.name = "loss", .output = 0});
    s.is_loss = true;
    s.reads = {.inputs = false, .outputs = false};
    units_ = s.input(0)[1];
    return {};
  }
  Status prepare(Prepare& p) override {
    p.reads(0, {DType::f32, p.input(0).shape, {}});
    return {};
  }
  void compute_feature(const Pass& pass, Frame& f) const override {
    auto* loss = static_cast<float*>(f.output(0));
    loss[0] = 0;
    loss[1] = static_cast<float>(pass.valid);
  }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (!wants_inputs(wanted)) return;
    auto* dy = static_cast<float*>(f.input_gradient(0));
    std::fill_n(dy, static_cast<std::int64_t>(pass.samples.size()) * units_, 0.0F);
    for (std::int64_t row = 0; row < pass.valid; ++row)
      dy[row * units_ + pass.samples[static_cast<std::size_t>(row)] / columns_] = -1;
  }

 private:
  std::int64_t columns_, units_ = 0;
};

} // namespace

DLHOST_PLUGIN("1.0", Marks, Counts);
