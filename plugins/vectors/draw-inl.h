// Philox 4x32-10 for many counters at once: the same numbers as dlhost::draw. Included once for each instruction set.
#if defined(DLHOST_VECTORS_DRAW) == defined(HWY_TARGET_TOGGLE)
#ifdef DLHOST_VECTORS_DRAW
#undef DLHOST_VECTORS_DRAW
#else
#define DLHOST_VECTORS_DRAW
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#include "draws.h"

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::vectors {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
inline void Draw(const Draws& draws, std::uint64_t element, float* dst, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    dst[i] = draw(draws.key, draws.epoch, draws.sample, element + static_cast<std::uint64_t>(i));
}
#else

// The words of `lanes` neighbouring blocks from block `group` on, in order: 4 * lanes numbers. The lower half of each
// 64-bit lane carries one word of a counter; the upper half is never read.
HWY_INLINE void draw_blocks(const Draws& draws, std::uint64_t group, float* dst) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Repartition<std::uint32_t, decltype(d)> dw;
  const hn::Repartition<std::int32_t, decltype(d)> di;
  const hn::Repartition<float, decltype(d)> df;
  const std::uint64_t key = draws.key.seed ^ (std::uint64_t{draws.key.stream} * 0x9E3779B97F4A7C15);
  // Lanes in the order required by the interleaving below.
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::uint64_t order[HWY_MAX_BYTES / sizeof(std::uint64_t)];
  for (std::size_t i = 0; i < lanes; ++i) order[i] = group + i / 2 + (i % 2) * (lanes / 2);
  const auto number = hn::Load(d, order);
  auto c0 = number, c1 = hn::ShiftRight<32>(number);
  auto c2 = hn::Set(d, draws.sample), c3 = hn::Set(d, draws.epoch);
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  const auto m0 = hn::BitCast(dw, hn::Set(d, 0xD2511F53U)), m1 = hn::BitCast(dw, hn::Set(d, 0xCD9E8D57U));
  for (int round = 0; round < 10; ++round) {
    const auto p0 = hn::MulEven(hn::BitCast(dw, c0), m0);
    const auto p1 = hn::MulEven(hn::BitCast(dw, c2), m1);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, k0));
    c1 = p1;
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, k1));
    c3 = p0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  const auto low = hn::Set(d, 0xFFFFFFFFU);
  const auto first = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
  const auto second = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
  const auto unit = [&](auto words) HWY_ATTR {
    const auto bits = hn::BitCast(di, hn::ShiftRight<8>(hn::BitCast(dw, words)));
    return hn::Mul(hn::ConvertTo(df, bits), hn::Set(df, 0x1p-24F));
  };
  hn::StoreU(unit(hn::InterleaveLower(d, first, second)), df, dst);
  hn::StoreU(unit(hn::InterleaveUpper(d, first, second)), df, dst + 2 * lanes);
}

inline void Draw(const Draws& draws, std::uint64_t element, float* dst, std::int64_t count) {
  const auto step = static_cast<std::int64_t>(4 * hn::Lanes(hn::ScalableTag<std::uint64_t>()));
  float block[HWY_MAX_BYTES / 2];
  auto skip = static_cast<std::int64_t>(element % 4); // in the first block
  for (auto group = element / 4; count > 0; group += static_cast<std::uint64_t>(step / 4)) {
    const auto taken = std::min(count, step - skip);
    if (taken == step) {
      draw_blocks(draws, group, dst);
    } else {
      draw_blocks(draws, group, block);
      std::memcpy(dst, block + skip, static_cast<std::size_t>(taken) * sizeof(float));
    }
    dst += taken;
    count -= taken;
    skip = 0;
  }
}

#endif // HWY_TARGET == HWY_SCALAR

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::vectors
HWY_AFTER_NAMESPACE();

#endif
