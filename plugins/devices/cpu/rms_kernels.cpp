#include "rms_kernels.h"

#include <type_traits>

#include "vectors/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rms_kernels.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "vectors/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

// 16-bit elements as stored.
struct RmsBf16 {
  std::uint16_t bits;
};
struct RmsF16 {
  std::uint16_t bits;
};

template <class D> HWY_INLINE auto take(D d, const float* from) { return hn::LoadU(d, from); }
template <class D> HWY_INLINE auto take(D d, const RmsBf16* from) { return LoadBf16(d, &from->bits); }
template <class D> HWY_INLINE auto take(D d, const RmsF16* from) { return LoadF16(d, &from->bits); }
template <class D> HWY_INLINE void give(D d, hn::VFromD<D> value, float* to) { hn::StoreU(value, d, to); }
template <class D> HWY_INLINE void give(D d, hn::VFromD<D> value, RmsBf16* to) { StoreBf16(d, value, &to->bits); }
template <class D> HWY_INLINE void give(D d, hn::VFromD<D> value, RmsF16* to) { StoreF16(d, value, &to->bits); }

// Calls call(an element of that dtype).
template <class Call> HWY_INLINE auto of_type(DType type, Call&& call) {
  if (type == DType::f32) return call(float{});
  if (type == DType::bf16) return call(RmsBf16{});
  return call(RmsF16{});
}

// Calls call(tag, index): whole vectors, then single elements.
template <class Call> HWY_INLINE void along(std::int64_t from, std::int64_t count, Call&& call) {
  const hn::ScalableTag<float> many;
  const hn::CappedTag<float, 1> one;
  auto i = from;
  for (const auto n = static_cast<std::int64_t>(hn::Lanes(many)); i + n <= count; i += n) call(many, i);
  for (; i < count; ++i) call(one, i);
}

// Sums term(tag, index) in four vectors.
template <class Term> HWY_INLINE float sum_along(std::int64_t count, Term&& term) {
  const hn::ScalableTag<float> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a, c = a, e = a;
  std::int64_t i = 0;
  for (; i + 4 * n <= count; i += 4 * n) {
    a = hn::Add(a, term(d, i));
    b = hn::Add(b, term(d, i + n));
    c = hn::Add(c, term(d, i + 2 * n));
    e = hn::Add(e, term(d, i + 3 * n));
  }
  for (; i + n <= count; i += n) a = hn::Add(a, term(d, i));
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) sum += hn::GetLane(term(one, i));
  return sum;
}

float squares_row(DType type, const void* data, std::int64_t count) {
  return of_type(type, [&](auto element) HWY_ATTR {
    const auto* x = static_cast<const decltype(element)*>(data);
    return sum_along(count, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto value = take(d, x + i);
      return hn::Mul(value, value);
    });
  });
}

void apply_row(DType type, const void* data, const float* scale, float factor, void* result, std::int64_t count) {
  of_type(type, [&](auto element) HWY_ATTR {
    const auto* x = static_cast<const decltype(element)*>(data);
    auto* y = static_cast<decltype(element)*>(result);
    along(0, count, [&](auto d, std::int64_t i) HWY_ATTR {
      give(d, hn::Mul(hn::Mul(take(d, x + i), hn::LoadU(d, scale + i)), hn::Set(d, factor)), y + i);
    });
  });
}

float slopes_row(DType type, const void* data, const void* above, const float* scale, float factor, float* dscale,
                 std::int64_t count) {
  return of_type(type, [&](auto element) HWY_ATTR {
    const auto* x = static_cast<const decltype(element)*>(data);
    const auto* dy = static_cast<const decltype(element)*>(above);
    return sum_along(count, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto product = hn::Mul(take(d, dy + i), take(d, x + i));
      hn::StoreU(hn::MulAdd(product, hn::Set(d, factor), hn::LoadU(d, dscale + i)), d, dscale + i);
      return hn::Mul(product, hn::LoadU(d, scale + i));
    });
  });
}

void gradient_row(DType type, const void* data, const void* above, const float* scale, float factor, float by_x,
                  void* result, std::int64_t count) {
  of_type(type, [&](auto element) HWY_ATTR {
    const auto* x = static_cast<const decltype(element)*>(data);
    const auto* dy = static_cast<const decltype(element)*>(above);
    auto* dx = static_cast<decltype(element)*>(result);
    along(0, count, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto through = hn::Mul(hn::Mul(take(d, dy + i), hn::LoadU(d, scale + i)), hn::Set(d, factor));
      give(d, hn::MulAdd(take(d, x + i), hn::Set(d, by_x), through), dx + i);
    });
  });
}

void along_rms(RmsKernels& kernels) { kernels = {&squares_row, &apply_row, &slopes_row, &gradient_row}; }

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlhost::plugins::cpu {

HWY_EXPORT(along_rms);

const RmsKernels& rms_kernels() {
  static const RmsKernels best = [] {
    RmsKernels kernels;
    HWY_DYNAMIC_DISPATCH(along_rms)(kernels);
    return kernels;
  }();
  return best;
}

} // namespace dlhost::plugins::cpu
#endif // HWY_ONCE
