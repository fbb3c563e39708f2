#include "rows.h"

#include <cmath>
#include <limits>

#include "vectors/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rows.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "map/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

float SoftmaxRow(const float* x, float* p, std::int64_t count, float* sum) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto whole = count - count % lanes;
  auto most = hn::Set(d, -std::numeric_limits<float>::infinity()), all = hn::Zero(d);
  for (std::int64_t i = 0; i < whole; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    most = hn::Max(most, value);
    all = hn::Add(all, value);
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, most)), total = hn::GetLane(hn::SumOfLanes(d, all));
  for (auto i = whole; i < count; ++i) {
    largest = std::max(largest, x[i]);
    total += x[i];
  }
  if (sum) *sum = total;

  const auto shift = hn::Set(d, largest);
  auto powers = hn::Zero(d);
  for (std::int64_t i = 0; i < whole; i += lanes) {
    const auto power = Exponential(d, hn::Sub(hn::LoadU(d, x + i), shift));
    powers = hn::Add(powers, power);
    hn::StoreU(power, d, p + i);
  }
  float power_sum = hn::GetLane(hn::SumOfLanes(d, powers));
  for (auto i = whole; i < count; ++i) power_sum += p[i] = std::exp(x[i] - largest);

  const float scale = 1.0F / power_sum;
  const auto scales = hn::Set(d, scale);
  for (std::int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, p + i), scales), d, p + i);
  for (auto i = whole; i < count; ++i) p[i] *= scale;
  return largest + std::log(power_sum);
}

void SoftmaxGradientRow(const float* p, float* dx, std::int64_t count, float factor, float spread) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto whole = count - count % lanes;
  for (std::int64_t i = 0; i < whole; i += lanes)
    hn::StoreU(hn::Mul(hn::Set(d, factor), hn::Sub(hn::LoadU(d, p + i), hn::Set(d, spread))), d, dx + i);
  for (auto i = whole; i < count; ++i) dx[i] = factor * (p[i] - spread);
}

void Rows(RowKernels& kernels) { kernels = {&SoftmaxRow, &SoftmaxGradientRow}; }

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlhost::plugins::cpu {

HWY_EXPORT(Rows);

const RowKernels& row_kernels() {
  static const RowKernels best = [] {
    RowKernels kernels;
    HWY_DYNAMIC_DISPATCH(Rows)(kernels);
    return kernels;
  }();
  return best;
}

} // namespace dlhost::plugins::cpu
#endif // HWY_ONCE
