// Converts elements of every dtype to f32 and back. Included once for each instruction set.
#if defined(DLHOST_VECTORS_CONVERT) == defined(HWY_TARGET_TOGGLE)
#ifdef DLHOST_VECTORS_CONVERT
#undef DLHOST_VECTORS_CONVERT
#else
#define DLHOST_VECTORS_CONVERT
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <dlhost/dtype.h>
#include <dlhost/half.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::vectors {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D> HWY_INLINE hn::VFromD<D> LoadBf16(D d, const std::uint16_t* src) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint16_t, D> dh;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, src))));
}

// Rounds to nearest, ties to even; NaN stays NaN. The bf16 is in the lower half of each lane.
template <class D> HWY_INLINE auto Bf16InLanes(D, hn::VFromD<D> value) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
}

template <class D> HWY_INLINE auto RoundBf16(D d, hn::VFromD<D> value) {
  const hn::Rebind<std::uint16_t, D> dh;
  return hn::DemoteTo(dh, hn::BitCast(hn::RebindToSigned<D>(), Bf16InLanes(d, value)));
}

template <class D> HWY_INLINE void StoreBf16(D d, hn::VFromD<D> value, std::uint16_t* dst) {
  const hn::Rebind<std::uint16_t, D> dh;
  hn::StoreU(RoundBf16(d, value), dh, dst);
}

// Rounds to nearest, ties to even, like the SDK; Highway truncates if the CPU has no instruction for it.
#if HWY_TARGET == HWY_SCALAR || (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2)
template <class D> HWY_INLINE hn::VFromD<D> LoadF16(D d, const std::uint16_t* src) {
  float values[hn::MaxLanes(d)];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) values[i] = float_of_f16(src[i]);
  return hn::LoadU(d, values);
}
template <class D> HWY_INLINE auto RoundF16(D d, hn::VFromD<D> value) {
  float values[hn::MaxLanes(d)];
  std::uint16_t rounded[hn::MaxLanes(d)];
  hn::StoreU(value, d, values);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) rounded[i] = f16_of_float(values[i]);
  return hn::LoadU(hn::Rebind<std::uint16_t, D>(), rounded);
}
#else
template <class D> HWY_INLINE hn::VFromD<D> LoadF16(D d, const std::uint16_t* src) {
  const hn::Rebind<hwy::float16_t, D> dh;
  return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(src)));
}
template <class D> HWY_INLINE auto RoundF16(D, hn::VFromD<D> value) {
  return hn::BitCast(hn::Rebind<std::uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), value));
}
#endif

template <class D> HWY_INLINE auto F16InLanes(D d, hn::VFromD<D> value) {
  return hn::PromoteTo(hn::RebindToUnsigned<D>(), RoundF16(d, value));
}

template <class D> HWY_INLINE void StoreF16(D d, hn::VFromD<D> value, std::uint16_t* dst) {
  hn::StoreU(RoundF16(d, value), hn::Rebind<std::uint16_t, D>(), dst);
}

// Whole vectors first, then one more from a padded copy.
template <class T, class One> HWY_INLINE void load_all(const void* from, float* dst, std::int64_t count, One&& one) {
  const auto* src = static_cast<const T*>(from);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) one(src + i, dst + i);
  if (i >= count) return;
  T padded[HWY_MAX_BYTES / sizeof(float)] = {};
  float loaded[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(padded, src + i, static_cast<std::size_t>(count - i) * sizeof(T));
  one(padded, loaded);
  std::memcpy(dst + i, loaded, static_cast<std::size_t>(count - i) * sizeof(float));
}

template <class T, class One> HWY_INLINE void store_all(const float* src, void* to, std::int64_t count, One&& one) {
  auto* dst = static_cast<T*>(to);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) one(src + i, dst + i);
  if (i >= count) return;
  float padded[HWY_MAX_BYTES / sizeof(float)] = {};
  T stored[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(padded, src + i, static_cast<std::size_t>(count - i) * sizeof(float));
  one(padded, stored);
  std::memcpy(dst + i, stored, static_cast<std::size_t>(count - i) * sizeof(T));
}

template <class T> void load_numbers(const void* from, float* dst, std::int64_t count) {
  const auto* src = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<float>(src[i]);
}

// Rounds to nearest and limits to the range; NaN becomes 0.
template <class T> void store_whole(const float* src, void* to, std::int64_t count) {
  auto* dst = static_cast<T*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    const double whole = std::nearbyint(static_cast<double>(src[i]));
    if (src[i] != src[i])
      dst[i] = 0;
    else if (whole <= static_cast<double>(std::numeric_limits<T>::min()))
      dst[i] = std::numeric_limits<T>::min();
    else if (whole >= static_cast<double>(std::numeric_limits<T>::max()))
      dst[i] = std::numeric_limits<T>::max();
    else
      dst[i] = static_cast<T>(whole);
  }
}

inline void Load(DType type, const void* src, float* dst, std::int64_t count) {
  [[maybe_unused]] const hn::ScalableTag<float> d;
  switch (type) {
  case DType::f32: std::memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(float)); return;
  case DType::bf16:
    return load_all<std::uint16_t>(src, dst, count,
                                   [&](const auto* from, float* to) HWY_ATTR { hn::StoreU(LoadBf16(d, from), d, to); });
  case DType::f16:
    return load_all<std::uint16_t>(src, dst, count,
                                   [&](const auto* from, float* to) HWY_ATTR { hn::StoreU(LoadF16(d, from), d, to); });
  case DType::u8:
    return load_all<std::uint8_t>(src, dst, count, [&](const auto* from, float* to) HWY_ATTR {
      const hn::RebindToSigned<decltype(d)> di;
      const hn::Rebind<std::uint8_t, decltype(d)> db;
      hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(db, from))), d, to);
    });
  case DType::i32: return load_numbers<std::int32_t>(src, dst, count);
  case DType::i8: return load_numbers<std::int8_t>(src, dst, count);
  case DType::i64: return load_numbers<std::int64_t>(src, dst, count);
  case DType::f64: return load_numbers<double>(src, dst, count);
  }
}

inline void Store(DType type, const float* src, void* dst, std::int64_t count) {
  const hn::ScalableTag<float> d;
  switch (type) {
  case DType::f32: std::memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(float)); return;
  case DType::bf16:
    return store_all<std::uint16_t>(
        src, dst, count, [&](const float* from, auto* to) HWY_ATTR { StoreBf16(d, hn::LoadU(d, from), to); });
  case DType::f16:
    return store_all<std::uint16_t>(src, dst, count,
                                    [&](const float* from, auto* to) HWY_ATTR { StoreF16(d, hn::LoadU(d, from), to); });
  case DType::u8: return store_whole<std::uint8_t>(src, dst, count);
  case DType::i8: return store_whole<std::int8_t>(src, dst, count);
  case DType::i32: return store_whole<std::int32_t>(src, dst, count);
  case DType::i64: return store_whole<std::int64_t>(src, dst, count);
  case DType::f64:
    for (std::int64_t i = 0; i < count; ++i) static_cast<double*>(dst)[i] = static_cast<double>(src[i]);
    return;
  }
}

// Interleaves each two rows of `width` elements: a0 b0 a1 b1 ... Requires: `count` is a multiple of 2 * width, and
// width of whole vectors. `in_lanes` rounds to 16 bits, in the lower half of each lane.
template <class InLanes>
HWY_INLINE void store_pairs(const float* src, void* dst, std::int64_t count, std::int64_t width, InLanes&& in_lanes) {
  const hn::CappedTag<float, 16> d; // no row is narrower
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto* to = static_cast<std::uint32_t*>(dst);
  for (const float* end = src + count; src < end; src += 2 * width)
    for (std::int64_t i = 0; i < width; i += lanes, to += lanes) {
      const auto even = in_lanes(d, hn::LoadU(d, src + i)), odd = in_lanes(d, hn::LoadU(d, src + width + i));
      hn::StoreU(hn::Or(even, hn::ShiftLeft<16>(odd)), du, to);
    }
}

// Converts to bf16 or f16.
inline void StorePairs(DType type, const float* src, void* dst, std::int64_t count, std::int64_t width) {
  if (type == DType::bf16)
    store_pairs(src, dst, count, width, [](auto d, auto value) HWY_ATTR { return Bf16InLanes(d, value); });
  else
    store_pairs(src, dst, count, width, [](auto d, auto value) HWY_ATTR { return F16InLanes(d, value); });
}

// Like Store, past the caches if the memory is aligned for it.
inline void StoreStreaming(DType type, const float* src, void* dst, std::int64_t count) {
#if HWY_TARGET <= HWY_AVX2 // here 16-bit numbers fill whole vectors
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint16_t, decltype(d)> dh;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (size_of(type) == 2 && count % lanes == 0 && reinterpret_cast<std::uintptr_t>(dst) % 64 == 0) {
    auto* to = static_cast<std::uint16_t*>(dst);
    if (type == DType::bf16)
      for (std::int64_t i = 0; i < count; i += lanes) hn::Stream(RoundBf16(d, hn::LoadU(d, src + i)), dh, to + i);
    else
      for (std::int64_t i = 0; i < count; i += lanes) hn::Stream(RoundF16(d, hn::LoadU(d, src + i)), dh, to + i);
    return;
  }
#endif
  Store(type, src, dst, count);
}

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::vectors
HWY_AFTER_NAMESPACE();

#endif
