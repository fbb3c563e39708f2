#include "channel_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "vectors/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "channel_kernels.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "vectors/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

constexpr std::int64_t columns = 16;
// Sums move from f32 to f64 after so many rows.
constexpr std::int64_t short_sum = 512;
// For rows wider than 16: so many rows stay in the first cache while strips of columns are summed one after the other.
constexpr std::int64_t tile_rows = 64;

using D = hn::CappedTag<float, 16>;
using V = hn::VFromD<D>;

// 16-bit elements as stored.
struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};
template <class T> constexpr DType dtype_of = DType::f32;
template <> constexpr DType dtype_of<Bf16> = DType::bf16;
template <> constexpr DType dtype_of<F16> = DType::f16;

template <class T> const std::uint16_t* bits_of(const T* elements) {
  return reinterpret_cast<const std::uint16_t*>(elements);
}
template <class T> std::uint16_t* bits_of(T* elements) { return reinterpret_cast<std::uint16_t*>(elements); }

HWY_INLINE V load(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE V load(const Bf16* from) { return LoadBf16(D(), bits_of(from)); }
HWY_INLINE V load(const F16* from) { return LoadF16(D(), bits_of(from)); }

HWY_INLINE auto rounded(V value, const Bf16*) { return RoundBf16(D(), value); }
HWY_INLINE auto rounded(V value, const F16*) { return RoundF16(D(), value); }

HWY_INLINE void store(V value, float* to) { hn::StoreU(value, D(), to); }
template <class T> HWY_INLINE void store(V value, T* to) {
  hn::StoreU(rounded(value, to), hn::Rebind<std::uint16_t, D>(), bits_of(to));
}

// call(an element of that dtype).
template <class Call> void with_element(DType type, Call&& call) {
  if (type == DType::f32) return call(float{});
  if (type == DType::bf16) return call(Bf16{});
  call(F16{});
}

// call(strip, its first column); strips are at most 16 wide.
template <class R, class Call> void each_strip(const R& rows, Call&& call) {
  if (rows.width <= columns) return call(rows, std::int64_t{0});
  for (std::int64_t first = 0; first < rows.rows; first += tile_rows)
    for (std::int64_t column = 0; column < rows.width; column += columns) {
      R strip = rows;
      strip.offset += first * rows.step + column;
      strip.rows = std::min(tile_rows, rows.rows - first);
      strip.width = std::min(columns, rows.width - column);
      call(strip, column);
    }
}

// call(part, its first column): the whole vectors, then the rest.
template <class R, class Call> void each_part(const R& rows, Call&& call) {
  const auto whole = rows.width / columns * columns;
  if (whole == 0 || whole == rows.width) return call(rows, std::int64_t{0});
  R part = rows;
  part.width = whole;
  call(part, std::int64_t{0});
  part.offset += whole;
  part.width = rows.width - whole;
  call(part, whole);
}

// With `stream`, writes past the caches; for results that fill cache lines without gaps.
template <bool stream, class T> HWY_INLINE void write(V value, T* to) {
  if constexpr (stream && std::is_same_v<T, float>)
    hn::Stream(value, D(), to);
  else if constexpr (stream)
    hn::Stream(rounded(value, to), hn::Rebind<std::uint16_t, D>(), bits_of(to));
  else
    store(value, to);
}
template <class T> bool may_stream(bool wanted, const T* to, std::int64_t step, std::int64_t width) {
  const auto line = 64 / static_cast<std::int64_t>(sizeof(T));
  const bool gapless = step == width || (step % line == 0 && width % line == 0);
  return wanted && gapless && hn::Lanes(D()) == columns && reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
}

// A buffer for a row narrower than the vectors.
template <class T> struct Narrow {
  T data[columns] = {};
  const T* in(const T* from, std::int64_t width) {
    std::memcpy(data, from, static_cast<std::size_t>(width) * sizeof(T));
    return data;
  }
};

template <class T, class Body> HWY_INLINE void each_column(Body&& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t column = 0; column < columns; column += lanes) body(column);
}

HWY_INLINE void take_over(V values, double* into) {
  HWY_ALIGN float parts[columns];
  hn::StoreU(values, D(), parts);
  for (std::size_t i = 0; i < hn::Lanes(D()); ++i) into[i] += static_cast<double>(parts[i]);
}

template <class T> void moments_of(const Rows& rows, const float* pivot, double* totals, double* squares) {
  const auto* x = static_cast<const T*>(rows.x) + rows.offset;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  if (rows.width < columns) {
    for (std::int64_t row = 0; row < rows.rows; ++row)
      for (std::int64_t i = 0; i < rows.width; ++i) {
        float value = 0;
        Load(dtype_of<T>, x + row * rows.step + i, &value, 1);
        const auto distance = static_cast<double>(value - pivot[i]);
        totals[i] += distance;
        squares[i] += distance * distance;
      }
    return;
  }
  for (std::int64_t first = 0; first < rows.rows; first += short_sum) {
    const auto last = std::min(rows.rows, first + short_sum);
    for (std::int64_t column = 0; column < columns; column += lanes) {
      const auto middle = hn::LoadU(D(), pivot + column);
      auto total0 = hn::Zero(D()), total1 = total0, square0 = total0, square1 = total0;
      const T* at = x + column + first * rows.step;
      std::int64_t row = first;
      for (; row + 2 <= last; row += 2, at += 2 * rows.step) {
        const auto one = hn::Sub(load(at), middle), two = hn::Sub(load(at + rows.step), middle);
        total0 = hn::Add(total0, one);
        total1 = hn::Add(total1, two);
        square0 = hn::MulAdd(one, one, square0);
        square1 = hn::MulAdd(two, two, square1);
      }
      if (row < last) {
        const auto one = hn::Sub(load(at), middle);
        total0 = hn::Add(total0, one);
        square0 = hn::MulAdd(one, one, square0);
      }
      take_over(hn::Add(total0, total1), totals + column);
      take_over(hn::Add(square0, square1), squares + column);
    }
  }
}

template <class T, bool relu, bool add, bool stream = false>
void apply_of(const Rows& rows, const float* factor, const float* shift) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const auto* x = static_cast<const T*>(rows.x) + rows.offset;
  const auto* other = add ? static_cast<const T*>(rows.other) + rows.offset : nullptr;
  auto* y = static_cast<T*>(rows.y) + rows.offset;
  const auto one = [&](const T* from, const T* addend, T* to, std::int64_t column) HWY_ATTR {
    auto value = hn::MulAdd(load(from + column), hn::LoadU(D(), factor + column), hn::LoadU(D(), shift + column));
    if constexpr (add) value = hn::Add(value, load(addend + column));
    if constexpr (relu) value = hn::Max(value, hn::Zero(D()));
    write<stream>(value, to + column);
  };
  if constexpr (!stream) {
    if (rows.width >= columns && may_stream(rows.stream, y, rows.step, rows.width))
      return apply_of<T, relu, add, true>(rows, factor, shift);
  }
  if (rows.width >= columns) {
    for (std::int64_t row = 0; row < rows.rows; ++row)
      for (std::int64_t column = 0; column < rows.width; column += lanes)
        one(x + row * rows.step, other + (add ? row * rows.step : 0), y + row * rows.step, column);
    return;
  }
  Narrow<T> from, addend;
  alignas(64) Narrow<T> to;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    from.in(x + row * rows.step, rows.width);
    if constexpr (add) addend.in(other + row * rows.step, rows.width);
    for (std::int64_t column = 0; column < columns; column += lanes) one(from.data, addend.data, to.data, column);
    std::memcpy(y + row * rows.step, to.data, static_cast<std::size_t>(rows.width) * sizeof(T));
  }
}

// dy after the ReLU mask.
template <class T, Mask mask> HWY_INLINE V masked(V dy, V x, const T* y, V factor, V shift) {
  if constexpr (mask == Mask::from_input)
    return hn::IfThenElseZero(hn::Gt(hn::MulAdd(x, factor, shift), hn::Zero(D())), dy);
  if constexpr (mask == Mask::from_output) return hn::IfThenElseZero(hn::Gt(load(y), hn::Zero(D())), dy);
  return dy;
}

// Copies of one narrow row of each tensor; missing columns get dy = 0.
template <class T, Mask mask> struct NarrowGradient {
  Narrow<T> x, dy, y, dx, daddend;
  GradientRows take(const GradientRows& rows, std::int64_t row) {
    const auto at = rows.offset + row * rows.step;
    x.in(static_cast<const T*>(rows.x) + at, rows.width);
    dy.in(static_cast<const T*>(rows.dy) + at, rows.width);
    if constexpr (mask == Mask::from_output) y.in(static_cast<const T*>(rows.y) + at, rows.width);
    return {x.data, dy.data, y.data, dx.data, rows.daddend ? daddend.data : nullptr, 0, 1, columns, columns};
  }
  void put(const GradientRows& rows, std::int64_t row) const {
    const auto at = rows.offset + row * rows.step;
    const auto bytes = static_cast<std::size_t>(rows.width) * sizeof(T);
    std::memcpy(static_cast<T*>(rows.dx) + at, dx.data, bytes);
    if (rows.daddend) std::memcpy(static_cast<T*>(rows.daddend) + at, daddend.data, bytes);
  }
};

template <class T, Mask mask>
void slopes_of(const GradientRows& rows, const float* factor, const float* shift, const float* mean, double* totals,
               double* products) {
  if (rows.width < columns) {
    NarrowGradient<T, mask> narrow;
    for (std::int64_t row = 0; row < rows.rows; ++row)
      slopes_of<T, mask>(narrow.take(rows, row), factor, shift, mean, totals, products);
    return;
  }
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t first = 0; first < rows.rows; first += short_sum) {
    const auto last = std::min(rows.rows, first + short_sum);
    for (std::int64_t column = 0; column < columns; column += lanes) {
      const auto f = hn::LoadU(D(), factor + column), s = hn::LoadU(D(), shift + column);
      const auto middle = hn::LoadU(D(), mean + column);
      const auto start = rows.offset + column + first * rows.step;
      const auto* x = static_cast<const T*>(rows.x) + start;
      const auto* dy = static_cast<const T*>(rows.dy) + start;
      const auto* y = mask == Mask::from_output ? static_cast<const T*>(rows.y) + start : nullptr;
      auto total0 = hn::Zero(D()), total1 = total0, product0 = total0, product1 = total0;
      const auto one = [&](std::int64_t at, V& total, V& product) HWY_ATTR {
        const auto here = load(x + at);
        const auto g = masked<T, mask>(load(dy + at), here, mask == Mask::from_output ? y + at : nullptr, f, s);
        total = hn::Add(total, g);
        product = hn::MulAdd(g, hn::Sub(here, middle), product);
      };
      std::int64_t row = first, at = 0;
      for (; row + 2 <= last; row += 2, at += 2 * rows.step) {
        one(at, total0, product0);
        one(at + rows.step, total1, product1);
      }
      if (row < last) one(at, total0, product0);
      take_over(hn::Add(total0, total1), totals + column);
      take_over(hn::Add(product0, product1), products + column);
    }
  }
}

template <class T, Mask mask, bool stream = false>
void gradient_of(const GradientRows& rows, const float* factor, const float* shift, const float* by_x,
                 const float* constant) {
  if (rows.width < columns) {
    NarrowGradient<T, mask> narrow;
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      gradient_of<T, mask>(narrow.take(rows, row), factor, shift, by_x, constant);
      narrow.put(rows, row);
    }
    return;
  }
  if constexpr (!stream) {
    const auto streams = [&](void* to) {
      return may_stream(rows.stream, static_cast<T*>(to) + rows.offset, rows.step, rows.width);
    };
    if (streams(rows.dx) && (!rows.daddend || streams(rows.daddend)))
      return gradient_of<T, mask, true>(rows, factor, shift, by_x, constant);
  }
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t row = 0; row < rows.rows; ++row)
    for (std::int64_t column = 0; column < rows.width; column += lanes) {
      const auto at = rows.offset + row * rows.step + column;
      const auto f = hn::LoadU(D(), factor + column), s = hn::LoadU(D(), shift + column);
      const auto x = load(static_cast<const T*>(rows.x) + at);
      const auto g = masked<T, mask>(load(static_cast<const T*>(rows.dy) + at), x,
                                     mask == Mask::from_output ? static_cast<const T*>(rows.y) + at : nullptr, f, s);
      const auto centred = hn::MulAdd(x, hn::LoadU(D(), by_x + column), hn::LoadU(D(), constant + column));
      if (rows.daddend) write<stream>(g, static_cast<T*>(rows.daddend) + at);
      write<stream>(hn::MulAdd(g, f, centred), static_cast<T*>(rows.dx) + at);
    }
}

void Moments(DType type, const Rows& rows, const float* pivot, double* totals, double* squares) {
  with_element(type, [&](auto element) {
    each_strip(rows, [&](const Rows& strip, std::int64_t at) {
      moments_of<decltype(element)>(strip, pivot + at, totals + at, squares + at);
    });
  });
}

template <class T> void apply_as(const Rows& rows, const float* factor, const float* shift, bool relu) {
  if (relu && rows.other) return apply_of<T, true, true>(rows, factor, shift);
  if (relu) return apply_of<T, true, false>(rows, factor, shift);
  if (rows.other) return apply_of<T, false, true>(rows, factor, shift);
  return apply_of<T, false, false>(rows, factor, shift);
}

void Apply(DType type, const Rows& rows, const float* factor, const float* shift, bool relu) {
  with_element(type, [&](auto element) {
    each_part(rows, [&](const Rows& part, std::int64_t at) {
      apply_as<decltype(element)>(part, factor + at, shift + at, relu);
    });
  });
}

template <class Call> void with_types(DType type, Mask mask, Call&& call) {
  with_element(type, [&](auto element) {
    if (mask == Mask::none)
      call(element, std::integral_constant<Mask, Mask::none>());
    else if (mask == Mask::from_input)
      call(element, std::integral_constant<Mask, Mask::from_input>());
    else
      call(element, std::integral_constant<Mask, Mask::from_output>());
  });
}

void Slopes(DType type, Mask mask, const GradientRows& rows, const float* factor, const float* shift, const float* mean,
            double* totals, double* products) {
  with_types(type, mask, [&](auto element, auto which) {
    each_strip(rows, [&](const GradientRows& strip, std::int64_t at) {
      slopes_of<decltype(element), decltype(which)::value>(strip, factor + at, shift + at, mean + at, totals + at,
                                                           products + at);
    });
  });
}

void Gradient(DType type, Mask mask, const GradientRows& rows, const float* factor, const float* shift,
              const float* by_x, const float* constant) {
  with_types(type, mask, [&](auto element, auto which) {
    each_part(rows, [&](const GradientRows& part, std::int64_t at) {
      gradient_of<decltype(element), decltype(which)::value>(part, factor + at, shift + at, by_x + at, constant + at);
    });
  });
}

void Kernels(ChannelKernels& kernels) { kernels = {&Moments, &Apply, &Slopes, &Gradient}; }

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlhost::plugins::cpu {

HWY_EXPORT(Kernels);

const ChannelKernels& channel_kernels() {
  static const ChannelKernels best = [] {
    ChannelKernels kernels;
    HWY_DYNAMIC_DISPATCH(Kernels)(kernels);
    return kernels;
  }();
  return best;
}

} // namespace dlhost::plugins::cpu
#endif // HWY_ONCE
