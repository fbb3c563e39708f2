#include "kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "vectors/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "vectors/convert-inl.h"
#include "vectors/draw-inl.h"
#include "vectors/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

// values[i] += factor * what(d, i)
template <class What> HWY_INLINE void add_each(float factor, float* values, std::size_t count, What&& what) {
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, values + i), hn::Mul(hn::Set(d, factor), what(d, i))), d, values + i);
  });
}

void Sum(const float* a, const float* b, float* sums, std::size_t count) {
  each(count, [&](auto d, std::size_t i)
                  HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, sums + i); });
}

void Difference(const float* a, const float* b, float* differences, std::size_t count) {
  each(count, [&](auto d, std::size_t i)
                  HWY_ATTR { hn::StoreU(hn::Sub(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, differences + i); });
}

// As integers, the bits of absolute values sort like the values, with infinity and NaN on top.
float Greatest(const float* values, std::size_t count) {
  const hn::ScalableTag<std::int32_t> di;
  auto most = hn::Zero(di);
  std::int32_t rest = 0;
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> db;
    const auto size = hn::BitCast(db, hn::Abs(hn::LoadU(d, values + i)));
    if constexpr (std::is_same_v<decltype(db), decltype(di)>)
      most = hn::Max(most, size);
    else
      rest = std::max(rest, hn::GetLane(size));
  });
  const auto greatest = std::bit_cast<float>(std::max(rest, hn::GetLane(hn::MaxOfLanes(di, most))));
  return greatest <= std::numeric_limits<float>::max() ? greatest : std::numeric_limits<float>::quiet_NaN();
}

void ToBf16(const float* values, std::byte* out, float* arrives, std::size_t count) {
  auto* to = reinterpret_cast<std::uint16_t*>(out);
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Rebind<std::uint16_t, decltype(d)> dh;
    const auto bits = Bf16InLanes(d, hn::LoadU(d, values + i));
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(hn::RebindToSigned<decltype(d)>(), bits)), dh, to + i);
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(du, bits))), d, arrives + i);
  });
}

void AddBf16(const std::byte* in, float factor, float* values, std::size_t count) {
  const auto* from = reinterpret_cast<const std::uint16_t*>(in);
  add_each(factor, values, count, [&](auto d, std::size_t i) HWY_ATTR { return LoadBf16(d, from + i); });
}

// `scale` is a power of two, so both divisions are exact.
void ToF16(const float* values, float scale, std::byte* out, float* arrives, std::size_t count) {
  auto* to = reinterpret_cast<std::uint16_t*>(out);
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    StoreF16(d, hn::Div(hn::LoadU(d, values + i), hn::Set(d, scale)), to + i);
    hn::StoreU(hn::Mul(LoadF16(d, to + i), hn::Set(d, scale)), d, arrives + i);
  });
}

void AddF16(const std::byte* in, float scale, float* values, std::size_t count) {
  const auto* from = reinterpret_cast<const std::uint16_t*>(in);
  add_each(scale, values, count, [&](auto d, std::size_t i) HWY_ATTR { return LoadF16(d, from + i); });
}

void ToInt8(const float* values, float scale, const float* draws, std::byte* codes, float* arrives, std::size_t count) {
  auto* to = reinterpret_cast<std::int8_t*>(codes);
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int8_t, decltype(d)> db;
    const auto lifted = hn::Add(hn::Div(hn::LoadU(d, values + i), hn::Set(d, scale)), hn::LoadU(d, draws + i));
    const auto code = hn::Clamp(hn::Floor(lifted), hn::Set(d, -127.0F), hn::Set(d, 127.0F));
    hn::StoreU(hn::DemoteTo(db, hn::ConvertTo(di, code)), db, to + i);
    hn::StoreU(hn::Mul(code, hn::Set(d, scale)), d, arrives + i);
  });
}

void AddInt8(const std::byte* codes, float scale, float* values, std::size_t count) {
  const auto* from = reinterpret_cast<const std::int8_t*>(codes);
  add_each(scale, values, count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int8_t, decltype(d)> db;
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(db, from + i)));
  });
}

// The value of a level, from 0 to 1.
template <class D> HWY_INLINE hn::VFromD<D> Place(D d, hn::VFromD<hn::RebindToSigned<D>> level, Levels levels) {
  const hn::RebindToSigned<D> di;
  if (!levels.natural) return hn::Div(hn::ConvertTo(d, level), hn::Set(d, static_cast<float>(levels.top)));
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(level, hn::Set(di, 127 - levels.top))));
  return hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(level, hn::Zero(di))), power);
}

template <class D> HWY_INLINE hn::VFromD<D> Decoded(D d, hn::VFromD<hn::RebindToSigned<D>> code, Levels levels) {
  const hn::RebindToSigned<D> di;
  // Codes above the highest level (from no encoder) count as the highest.
  const auto size = Place(d, hn::Min(hn::ShiftRight<1>(code), hn::Set(di, levels.top)), levels);
  return hn::CopySign(size, hn::BitCast(d, hn::ShiftLeft<31>(code)));
}

void ToLevels(const float* values, float norm, Levels levels, const float* draws, std::uint8_t* codes, float* arrives,
              std::size_t count) {
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> db;
    const auto value = hn::LoadU(d, values + i);
    const auto share = hn::Min(hn::Set(d, 1.0F), hn::Div(hn::Abs(value), hn::Set(d, norm)));
    const auto top = hn::Set(di, levels.top);
    auto below = hn::Zero(di);
    if (levels.natural) // share is in [2^(exponent - 127), twice that)
      below = hn::Max(hn::Add(hn::ShiftRight<23>(hn::BitCast(di, share)), hn::Set(di, levels.top - 127)), below);
    else
      below = hn::ConvertTo(di, hn::Mul(share, hn::ConvertTo(d, top)));
    below = hn::Min(below, top);
    const auto low = Place(d, below, levels);
    const auto high = Place(d, hn::Min(hn::Add(below, hn::Set(di, 1)), top), levels);
    const auto up = hn::Lt(hn::Mul(hn::LoadU(d, draws + i), hn::Sub(high, low)), hn::Sub(share, low));
    const auto level = hn::IfThenElse(hn::RebindMask(di, up), hn::Min(hn::Add(below, hn::Set(di, 1)), top), below);
    const auto negative = hn::IfThenElseZero(hn::RebindMask(di, hn::Lt(value, hn::Zero(d))), hn::Set(di, 1));
    const auto code = hn::Or(hn::ShiftLeft<1>(level), negative);
    hn::StoreU(hn::DemoteTo(db, code), db, codes + i);
    hn::StoreU(hn::Mul(hn::Set(d, norm), Decoded(d, code, levels)), d, arrives + i);
  });
}

void AddLevels(const std::uint8_t* codes, float norm, Levels levels, float* values, std::size_t count) {
  add_each(norm, values, count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> db;
    return Decoded(d, hn::PromoteTo(di, hn::LoadU(db, codes + i)), levels);
  });
}

SignSums ToSigns(const float* values, std::uint8_t* codes, std::size_t count) {
  const hn::ScalableTag<float> many;
  auto below = hn::Zero(many), others = hn::Zero(many);
  SignSums sums;
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> db;
    const auto value = hn::LoadU(d, values + i);
    const auto negative = hn::Lt(value, hn::Zero(d)); // false for NaN
    hn::StoreU(hn::DemoteTo(db, hn::IfThenElseZero(hn::RebindMask(di, negative), hn::Set(di, 1))), db, codes + i);
    const auto low = hn::IfThenElseZero(negative, value), high = hn::IfThenZeroElse(negative, value);
    if constexpr (std::is_same_v<decltype(d), std::remove_const_t<decltype(many)>>) {
      below = hn::Add(below, low);
      others = hn::Add(others, high);
    } else {
      sums.below += hn::GetLane(low);
      sums.others += hn::GetLane(high);
    }
  });
  sums.below += hn::GetLane(hn::SumOfLanes(many, below));
  sums.others += hn::GetLane(hn::SumOfLanes(many, others));
  for (std::size_t i = 0; i < count; ++i) sums.count_below += codes[i];
  return sums;
}

void AddSigns(const std::uint8_t* codes, const float means[2], float* values, std::size_t count) {
  each(count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> db;
    const auto code = hn::PromoteTo(di, hn::LoadU(db, codes + i));
    const auto negative = hn::RebindMask(d, hn::Ne(code, hn::Zero(di)));
    const auto mean = hn::IfThenElse(negative, hn::Set(d, means[1]), hn::Set(d, means[0]));
    hn::StoreU(hn::Add(hn::LoadU(d, values + i), mean), d, values + i);
  });
}

void Kernels(CodecKernels& kernels) {
  kernels = {&Sum,    &Difference, &Greatest, &Draw,     &ToBf16,    &AddBf16, &ToF16,
             &AddF16, &ToInt8,     &AddInt8,  &ToLevels, &AddLevels, &ToSigns, &AddSigns};
}

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlhost::plugins {

HWY_EXPORT(Kernels);

const CodecKernels& codec_kernels() {
  static const CodecKernels best = [] {
    CodecKernels kernels;
    HWY_DYNAMIC_DISPATCH(Kernels)(kernels);
    return kernels;
  }();
  return best;
}

std::vector<std::pair<std::string, CodecKernels>> all_codec_kernels() {
  std::vector<std::pair<std::string, CodecKernels>> all;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    CodecKernels kernels;
    HWY_DYNAMIC_DISPATCH(Kernels)(kernels);
    all.emplace_back(hwy::TargetName(target), kernels);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return all;
}

} // namespace dlhost::plugins
#endif // HWY_ONCE
