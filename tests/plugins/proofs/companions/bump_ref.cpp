// The kernels of `bump` for `ref`.
#include <cmath>

#include <dlhost/host_op.h>
#include <dlhost/kernel.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Loop : public HostOp {
 public:
  explicit Loop(const KernelSpec& spec)
      : sharpness_(static_cast<float>(spec.numbers.at(0))), count_(spec.out.at(0).count()) {
    in = spec.in;
    out = spec.out;
    kernel = concat("bump@ref ", spec.name);
    operations = 4 * static_cast<double>(count_);
  }

 protected:
  float sharpness_;
  std::int64_t count_;
};

class Feature final : public Loop {
 public:
  using Loop::Loop;
  Status compute(const HostCall& call) override {
    const auto* x = static_cast<const float*>(call.in[0]);
    auto* y = static_cast<float*>(call.out[0]);
    for (std::int64_t i = 0; i < count_; ++i) y[i] = x[i] * std::exp(-sharpness_ * x[i] * x[i]);
    return {};
  }
};

class Gradient final : public Loop {
 public:
  using Loop::Loop;
  Status compute(const HostCall& call) override {
    const auto *x = static_cast<const float*>(call.in[0]), *dy = static_cast<const float*>(call.in[1]);
    auto* dx = static_cast<float*>(call.out[0]);
    for (std::int64_t i = 0; i < count_; ++i) {
      const float power = sharpness_ * x[i] * x[i];
      dx[i] = dy[i] * std::exp(-power) * (1 - 2 * power);
    }
    return {};
  }
};

class BumpOnRef final : public Kernels {
 public:
  static constexpr std::string_view name = "bump@ref";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Both directions of bump, in one loop each."); }
  explicit BumpOnRef(Options) {}

  Result<std::unique_ptr<Op>> prepare(Device&, const KernelSpec& spec, const Choice&) override {
    if (spec.name == "feature") return std::unique_ptr<Op>(std::make_unique<Feature>(spec));
    if (spec.name == "gradient") return std::unique_ptr<Op>(std::make_unique<Gradient>(spec));
    return Status::not_found("there are 'feature' and 'gradient'");
  }
};

} // namespace

DLHOST_PLUGIN("1.0", BumpOnRef);
