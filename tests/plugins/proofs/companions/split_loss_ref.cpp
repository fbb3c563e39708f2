// The kernels of `split_loss` for `ref`: they compare classes with labels. `numbers` has the piece's first class.
#include <algorithm>
#include <cmath>

#include <dlhost/host_op.h>
#include <dlhost/kernel.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class OfClasses : public HostOp {
 public:
  explicit OfClasses(const KernelSpec& spec)
      : rows_(spec.in.at(0).shape[0]), classes_(spec.in[0].shape[1]),
        first_(static_cast<std::int64_t>(spec.numbers.at(0))) {
    in = spec.in;
    out = spec.out;
    kernel = concat("split_loss@ref ", spec.name);
  }

 protected:
  std::int64_t rows_, classes_, first_;
};

// in {x, labels, peaks} out {x - peak at the label; 0 if another piece has the label}
class Score final : public OfClasses {
 public:
  using OfClasses::OfClasses;
  Status compute(const HostCall& call) override {
    const auto *x = static_cast<const float*>(call.in[0]), *peaks = static_cast<const float*>(call.in[2]);
    const auto* labels = static_cast<const std::int32_t*>(call.in[1]);
    auto* scores = static_cast<float*>(call.out[0]);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::int64_t own = labels[row] - first_;
      scores[row] = own >= 0 && own < classes_ ? x[row * classes_ + own] - peaks[row] : 0;
    }
    return {};
  }
};

// in {x, labels, peaks, sums} out {dx}, scalar 0: the factor
class Gradient final : public OfClasses {
 public:
  using OfClasses::OfClasses;
  Status compute(const HostCall& call) override {
    const auto *x = static_cast<const float*>(call.in[0]), *peaks = static_cast<const float*>(call.in[2]),
               *sums = static_cast<const float*>(call.in[3]);
    const auto* labels = static_cast<const std::int32_t*>(call.in[1]);
    auto* dx = static_cast<float*>(call.out[0]);
    const std::int64_t counted = call.dynamic.valid < 0 ? rows_ : std::min(rows_, call.dynamic.valid);
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t own = 0; own < classes_; ++own) {
        const std::int64_t i = row * classes_ + own;
        const float target = labels[row] == first_ + own ? 1 : 0;
        dx[i] = row < counted ? call.dynamic.scalars[0] * (std::exp(x[i] - peaks[row]) / sums[row] - target) : 0;
      }
    return {};
  }
};

class SplitLossOnRef final : public Kernels {
 public:
  static constexpr std::string_view name = "split_loss@ref";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("What split_loss does with labels."); }
  explicit SplitLossOnRef(Options) {}

  Result<std::unique_ptr<Op>> prepare(Device&, const KernelSpec& spec, const Choice&) override {
    if (spec.name == "score") return std::unique_ptr<Op>(std::make_unique<Score>(spec));
    if (spec.name == "gradient") return std::unique_ptr<Op>(std::make_unique<Gradient>(spec));
    return Status::not_found("there are 'score' and 'gradient'");
  }
};

} // namespace

DLHOST_PLUGIN("1.0", SplitLossOnRef);
