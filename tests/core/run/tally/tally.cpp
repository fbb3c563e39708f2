// A loss whose param counts: with an updater of rate one, its element i is the number of updates that contain sample i.
#include <algorithm>

#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Tally final : public Layer {
 public:
  static constexpr std::string_view name = "tally";
  struct Options {
    std::int64_t samples = 0;
  };
  static Schema schema() {
    return SchemaOf<Options>("Counts samples.")
        .required("samples", &Options::samples, at_least(1), "how many there are");
  }
  explicit Tally(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    s.output("loss", TensorDesc{DType::f32, {2}, {}});
    s.metric({.name = "loss", .output = 0});
    s.is_loss = true;
    s.param({.name = "applied", .shape = {options_.samples}, .init = {"constant", {}}});
    s.reads = {.inputs = false, .outputs = false};
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
    auto* gradient = static_cast<float*>(f.param_gradient(0));
    if (!gradient || !wants_params(wanted)) return;
    std::fill_n(gradient, options_.samples, 0.0F);
    for (std::int64_t row = 0; row < pass.valid; ++row) gradient[pass.samples[static_cast<std::size_t>(row)]] -= 1;
  }

 private:
  Options options_;
};

} // namespace

DLHOST_PLUGIN("1.0", Tally);
