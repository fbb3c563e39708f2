#include "kernels.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "vectors/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "map/kernels.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "functions-inl.h"
#include "vectors/convert-inl.h"
#include "vectors/draw-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

template <class Function>
HWY_INLINE void walk1(Walk a, float* HWY_RESTRICT out, std::int64_t count, Function&& function) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes)
    hn::StoreU(function(d, hn::LoadU(d, a.data + i * a.step)), d, out + i);
}

// The result may be one of the operands.
template <class Function> HWY_INLINE void walk2(Walk a, Walk b, float* out, std::int64_t count, Function&& function) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes)
    hn::StoreU(function(d, hn::LoadU(d, a.data + i * a.step), hn::LoadU(d, b.data + i * b.step)), d, out + i);
}

template <class Function>
HWY_INLINE void walk3(Walk a, Walk b, Walk c, float* out, std::int64_t count, Function&& function) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes)
    hn::StoreU(function(d, hn::LoadU(d, a.data + i * a.step), hn::LoadU(d, b.data + i * b.step),
                        hn::LoadU(d, c.data + i * c.step)),
               d, out + i);
}

#define DLHOST_WALK1(expression)                                                                                       \
  walk1(a, out, count, [](auto d, auto x) HWY_ATTR {                                                                   \
    (void)d;                                                                                                           \
    return expression;                                                                                                 \
  })
#define DLHOST_WALK2(expression)                                                                                       \
  walk2(a, b, out, count, [](auto d, auto x, auto y) HWY_ATTR {                                                        \
    (void)d;                                                                                                           \
    return expression;                                                                                                 \
  })
#define DLHOST_WALK3(expression)                                                                                       \
  walk3(a, b, c, out, count, [](auto d, auto x, auto y, auto z) HWY_ATTR {                                             \
    (void)d;                                                                                                           \
    return expression;                                                                                                 \
  })

void Step(Code code, Walk a, Walk b, Walk c, float* out, std::int64_t count) {
  switch (code) {
  case Code::add: return DLHOST_WALK2(hn::Add(x, y));
  case Code::subtract: return DLHOST_WALK2(hn::Sub(x, y));
  case Code::multiply: return DLHOST_WALK2(hn::Mul(x, y));
  case Code::divide: return DLHOST_WALK2(hn::Div(x, y));
  // NaN wins, as in `a < b || a != a ? a : b`.
  case Code::minimum: return DLHOST_WALK2(hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::IsNaN(x)), x, y));
  case Code::maximum: return DLHOST_WALK2(hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y));
  case Code::greater: return DLHOST_WALK2(hn::IfThenElseZero(hn::Gt(x, y), hn::Set(d, 1.0F)));
  case Code::select: return DLHOST_WALK3(hn::IfThenElse(hn::Gt(x, hn::Zero(d)), y, z));
  case Code::copy: return DLHOST_WALK1(x);
  case Code::negate: return DLHOST_WALK1(hn::Neg(x));
  case Code::absolute: return DLHOST_WALK1(hn::Abs(x));
  case Code::square_root: return DLHOST_WALK1(hn::Sqrt(x));
  case Code::exponential: return DLHOST_WALK1(Exponential(d, x));
  case Code::logarithm: return DLHOST_WALK1(Logarithm(d, x));
  case Code::logarithm1p: return DLHOST_WALK1(Logarithm1p(d, x));
  case Code::tanh: return DLHOST_WALK1(HyperbolicTangent(d, x));
  case Code::logistic: return DLHOST_WALK1(Logistic(d, x));
  case Code::error_function: return DLHOST_WALK1(ErrorFunction(d, x));
  case Code::minus_three_quarters: return DLHOST_WALK1(MinusThreeQuarters(d, x));
  case Code::multiply_add: return DLHOST_WALK3(hn::MulAdd(x, y, z));
  case Code::multiply_subtract: return DLHOST_WALK3(hn::MulSub(x, y, z));
  case Code::negated_multiply: return DLHOST_WALK3(hn::NegMulAdd(x, y, z));
  }
}

float Sum(const float* values, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto first = hn::Zero(d), second = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    first = hn::Add(first, hn::LoadU(d, values + i));
    second = hn::Add(second, hn::LoadU(d, values + i + lanes));
  }
  float rest = 0;
  for (; i < count; ++i) rest += values[i];
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second))) + rest;
}

void Accumulate(const float* HWY_RESTRICT values, float* HWY_RESTRICT sums, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::LoadU(d, values + i)), d, sums + i);
  for (; i < count; ++i) sums[i] += values[i];
}

void SumShifted(const float* HWY_RESTRICT values, const std::int64_t* shifts, std::size_t shift_count,
                float* HWY_RESTRICT sums, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) {
    auto sum = hn::LoadU(d, values + i + shifts[0]);
    for (std::size_t s = 1; s < shift_count; ++s) sum = hn::Add(sum, hn::LoadU(d, values + i + shifts[s]));
    hn::StoreU(sum, d, sums + i);
  }
}

void Kernels(MapKernels& kernels) {
  kernels = {
      &Step, &Load, &Store,      &StoreStreaming, &StorePairs,
      &Draw, &Sum,  &Accumulate, &SumShifted,     static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()))};
}

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlhost::plugins::cpu {

HWY_EXPORT(Kernels);

const MapKernels& map_kernels() {
  static const MapKernels best = [] {
    MapKernels kernels;
    HWY_DYNAMIC_DISPATCH(Kernels)(kernels);
    return kernels;
  }();
  return best;
}

std::vector<std::pair<std::string, MapKernels>> all_map_kernels() {
  std::vector<std::pair<std::string, MapKernels>> all;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    MapKernels kernels;
    HWY_DYNAMIC_DISPATCH(Kernels)(kernels);
    all.emplace_back(hwy::TargetName(target), kernels);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return all;
}

} // namespace dlhost::plugins::cpu
#endif // HWY_ONCE
