// RMS norm, row by row: a row is summed and then scaled while it is in the cache. oneDNN 3.2 has none.
#include <algorithm>
#include <cmath>

#include <dlhost/parallel.h>

#include "formats.h"
#include "norm.h"
#include "rms_kernels.h"

namespace dlhost::plugins::cpu {
namespace {

class RmsNorm : public Op {
 protected:
  explicit RmsNorm(const NormSpec& spec)
      : type_(spec.x.dtype), size_(spec.params().count()), rows_(spec.statistics().count()), epsilon_(spec.epsilon) {
    kernel = "rows";
  }

  const std::byte* row(const void* data, std::int64_t i) const {
    return static_cast<const std::byte*>(data) + i * size_ * static_cast<std::int64_t>(size_of(type_));
  }
  std::byte* row(void* data, std::int64_t i) const {
    return static_cast<std::byte*>(data) + i * size_ * static_cast<std::int64_t>(size_of(type_));
  }
  double inverse(float square) const { return 1 / std::sqrt(static_cast<double>(square) + epsilon_); }

  DType type_;
  std::int64_t size_, rows_; // elements in a row
  double epsilon_;
};

class RmsNormFeature final : public RmsNorm {
 public:
  explicit RmsNormFeature(const NormSpec& spec) : RmsNorm(spec) {
    in = {spec.x, {DType::f32, spec.params(), {}}};
    out = {spec.y, {DType::f32, spec.statistics(), {}}};
    operations = 4.0 * static_cast<double>(spec.x.count());
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void*,
               const Dynamic&) override {
    const auto* scale = static_cast<const float*>(inputs[1]);
    auto* squares = static_cast<float*>(outputs[1]);
    const auto grain = std::max<std::int64_t>(1, (1 << 12) / std::max<std::int64_t>(size_, 1));
    parallel_ranges(rows_, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        squares[i] = rms_kernels().squares(type_, row(inputs[0], i), size_) / static_cast<float>(size_);
        rms_kernels().apply(type_, row(inputs[0], i), scale, static_cast<float>(inverse(squares[i])),
                            row(outputs[0], i), size_);
      }
    });
  }
};

class RmsNormGradient final : public RmsNorm {
 public:
  explicit RmsNormGradient(const NormSpec& spec)
      : RmsNorm(spec), parts_(std::clamp<std::int64_t>(rows_ / rows_each, 1, most_parts)) {
    const TensorDesc param{DType::f32, spec.params(), {}}, statistic{DType::f32, spec.statistics(), {}};
    in = {spec.x, spec.y, param, statistic};
    out = {spec.x, param};
    scratch_bytes = static_cast<std::size_t>(parts_ * size_) * sizeof(float);
    operations = 10.0 * static_cast<double>(spec.x.count());
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic&) override {
    const auto *scale = static_cast<const float*>(inputs[2]), *squares = static_cast<const float*>(inputs[3]);
    auto *partials = static_cast<float*>(scratch), *dscale = static_cast<float*>(outputs[1]);
    parallel(parts_, [&](std::int64_t part) {
      float* sums = partials + part * size_;
      std::fill_n(sums, size_, 0.0F);
      for (auto i = rows_ * part / parts_; i < rows_ * (part + 1) / parts_; ++i) {
        const auto *x = row(inputs[0], i), *dy = row(inputs[1], i);
        const double inverted = inverse(squares[i]);
        const auto factor = static_cast<float>(inverted);
        const float slope = rms_kernels().slopes(type_, x, dy, scale, factor, sums, size_);
        const double by_x = -inverted * inverted * inverted * static_cast<double>(slope) / static_cast<double>(size_);
        rms_kernels().gradient(type_, x, dy, scale, factor, static_cast<float>(by_x), row(outputs[0], i), size_);
      }
    });
    constexpr std::int64_t grain = 1 << 10;
    parallel_ranges(size_, grain, [&](std::int64_t first, std::int64_t last) {
      std::copy(partials + first, partials + last, dscale + first);
      for (std::int64_t part = 1; part < parts_; ++part)
        for (auto i = first; i < last; ++i) dscale[i] += partials[part * size_ + i];
    });
  }

 private:
  // The order of sums in the scale's gradient depends only on the number of rows.
  static constexpr std::int64_t rows_each = 8, most_parts = 32;
  std::int64_t parts_;
};

} // namespace

Prepared prepare_rms_norm(const NormSpec& wanted) {
  NormSpec spec = wanted;
  for (auto* desc : {&spec.x, &spec.y}) {
    if (!desc->format.is_plain() && !desc->format.is_any()) return Status::unsupported("RMS norm: plain only");
    desc->format = Format::plain();
  }
  const DType type = spec.x.dtype;
  if (type != spec.y.dtype || (type != DType::f32 && type != DType::bf16 && type != DType::f16))
    return Status::unsupported("RMS norm: x and y of one dtype, f32, bf16 or f16; here ", name_of(type), " and ",
                               name_of(spec.y.dtype));
  std::unique_ptr<Op> op;
  if (spec.role == Role::feature)
    op = std::make_unique<RmsNormFeature>(spec);
  else
    op = std::make_unique<RmsNormGradient>(spec);
  op->epilogue_taken = spec.epilogue.empty();
  if (!op->epilogue_taken) op->remark = "not fused: RMS norm takes no epilogue here";
  return op;
}

} // namespace dlhost::plugins::cpu
