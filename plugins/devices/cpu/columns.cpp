#include "columns.h"

#include <algorithm>

#include "vectors/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "columns.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "map/functions-inl.h"
#include "vectors/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

// A block of this size stays in the first cache while vectors of columns go down it one after the other.
constexpr std::int64_t block_bytes = 16 * 1024;
constexpr std::int64_t wide_bytes = 256;

// 16-bit elements as stored.
struct ColumnBf16 {
  std::uint16_t bits;
};
struct ColumnF16 {
  std::uint16_t bits;
};

template <class D> HWY_INLINE auto column(D d, const float* from) { return hn::LoadU(d, from); }
template <class D> HWY_INLINE auto column(D d, const ColumnBf16* from) { return LoadBf16(d, &from->bits); }
template <class D> HWY_INLINE auto column(D d, const ColumnF16* from) { return LoadF16(d, &from->bits); }
template <class D> HWY_INLINE void put(D d, hn::VFromD<D> value, float* to) { hn::StoreU(value, d, to); }
template <class D> HWY_INLINE void put(D d, hn::VFromD<D> value, ColumnBf16* to) { StoreBf16(d, value, &to->bits); }
template <class D> HWY_INLINE void put(D d, hn::VFromD<D> value, ColumnF16* to) { StoreF16(d, value, &to->bits); }

// Calls call(an element of that dtype).
template <class Call> HWY_INLINE void with_element(DType type, Call&& call) {
  if (type == DType::f32) return call(float{});
  if (type == DType::bf16) return call(ColumnBf16{});
  call(ColumnF16{});
}

// Calls call(tag, first column) for each vector of columns.
template <class Call> HWY_INLINE void each_vector(std::int64_t width, Call&& call) {
  const hn::ScalableTag<float> many;
  const hn::CappedTag<float, 4> few;
  const hn::CappedTag<float, 1> one;
  std::int64_t c = 0;
  for (const auto n = static_cast<std::int64_t>(hn::Lanes(many)); c + n <= width; c += n) call(many, c);
  for (const auto n = static_cast<std::int64_t>(hn::Lanes(few)); c + n <= width; c += n) call(few, c);
  for (; c < width; ++c) call(one, c);
}

// Calls down(tag, first column, x, y, room, rows) for each vector of columns. Wide rows are processed one by one, in
// memory order; so are rows without gaps if nothing is `summed` down the columns.
template <class T, bool summed, class Down> HWY_INLINE void each_block(const Columns& of, Down&& down) {
  const auto* x = static_cast<const T*>(of.x);
  auto* y = static_cast<T*>(of.y);
  float* room = of.room;
  const auto bytes = of.width * static_cast<std::int64_t>(sizeof(T));
  const bool wide = bytes >= wide_bytes && (of.step > of.width || !summed);
  const auto block = wide ? 1 : std::max<std::int64_t>(1, block_bytes / bytes);
  for (std::int64_t first = 0; first < of.rows; first += block) {
    const auto rows = std::min(block, of.rows - first);
    each_vector(of.width,
                [&](auto d, std::int64_t c) HWY_ATTR { down(d, c, x + c, y + c, room ? room + c : nullptr, rows); });
    x += block * of.step;
    y += block * of.step;
    if (room) room += block * of.room_step;
  }
}

void Largest(DType type, const Columns& of, float* most, float* totals) {
  with_element(type, [&](auto element) HWY_ATTR {
    using T = decltype(element);
    each_block<T, true>(of, [&](auto d, std::int64_t c, const T* x, T*, float*, std::int64_t rows) HWY_ATTR {
      auto largest = hn::LoadU(d, most + c);
      auto total = totals ? hn::LoadU(d, totals + c) : hn::Zero(d);
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto value = column(d, x + row * of.step);
        largest = hn::Max(largest, value);
        total = hn::Add(total, value);
      }
      hn::StoreU(largest, d, most + c);
      if (totals) hn::StoreU(total, d, totals + c);
    });
  });
}

void Powers(DType type, const Columns& of, const float* most, float* sums) {
  with_element(type, [&](auto element) HWY_ATTR {
    using T = decltype(element);
    each_block<T, true>(of, [&](auto d, std::int64_t c, const T* x, T*, float* room, std::int64_t rows) HWY_ATTR {
      const auto shift = hn::LoadU(d, most + c);
      auto sum = hn::LoadU(d, sums + c);
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto power = Exponential(d, hn::Sub(column(d, x + row * of.step), shift));
        sum = hn::Add(sum, power);
        hn::StoreU(power, d, room + row * of.room_step);
      }
      hn::StoreU(sum, d, sums + c);
    });
  });
}

void Finish(DType type, const Columns& of, const float* scale) {
  with_element(type, [&](auto element) HWY_ATTR {
    using T = decltype(element);
    each_block<T, false>(of, [&](auto d, std::int64_t c, const T*, T* y, float* room, std::int64_t rows) HWY_ATTR {
      const auto scales = hn::LoadU(d, scale + c);
      for (std::int64_t row = 0; row < rows; ++row)
        put(d, hn::Mul(hn::LoadU(d, room + row * of.room_step), scales), y + row * of.step);
    });
  });
}

void Slopes(DType type, const Columns& of, const float* factor, float spread) {
  with_element(type, [&](auto element) HWY_ATTR {
    using T = decltype(element);
    each_block<T, false>(of, [&](auto d, std::int64_t c, const T* x, T* y, float*, std::int64_t rows) HWY_ATTR {
      const auto factors = hn::LoadU(d, factor + c);
      const auto counted = hn::Ne(factors, hn::Zero(d));
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto slope = hn::Mul(factors, hn::Sub(column(d, x + row * of.step), hn::Set(d, spread)));
        put(d, hn::IfThenElseZero(counted, slope), y + row * of.step);
      }
    });
  });
}

void DownColumns(ColumnKernels& kernels) { kernels = {&Largest, &Powers, &Finish, &Slopes}; }

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlhost::plugins::cpu {

HWY_EXPORT(DownColumns);

const ColumnKernels& column_kernels() {
  static const ColumnKernels best = [] {
    ColumnKernels kernels;
    HWY_DYNAMIC_DISPATCH(DownColumns)(kernels);
    return kernels;
  }();
  return best;
}

} // namespace dlhost::plugins::cpu
#endif // HWY_ONCE
