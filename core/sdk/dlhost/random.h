// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): a number is a pure function of its key and its
// counter, so every device, partition and resumed run draws the same ones.
#pragma once

#include <array>
#include <cstdint>

namespace dlhost {

// The key of draws. `stream` separates draws of one step: a layer's number, an initialised param, a shuffle.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
};

struct Philox {
  using Block = std::array<std::uint32_t, 4>;

  static constexpr Block block(std::uint64_t key, Block counter) {
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
      counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
                 static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return counter;
  }
};

// Uniform in [0, 1) with 24 bits: exact in f32.
constexpr float unit_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

// The draw of an element of a sample in an epoch. Four neighbouring elements share one block.
constexpr float draw(DrawKey key, std::uint32_t epoch, std::uint32_t sample, std::uint64_t element) {
  const auto group = element / 4;
  const std::uint64_t mixed = key.seed ^ (std::uint64_t{key.stream} * 0x9E3779B97F4A7C15);
  const auto block =
      Philox::block(mixed, {static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32), sample, epoch});
  return unit_float(block[element % 4]);
}

// A sequence for host code: initialisers, shuffles, augmentations.
class Random {
 public:
  Random(DrawKey key, std::uint32_t epoch, std::uint32_t sample)
      : key_(key.seed ^ (std::uint64_t{key.stream} * 0x9E3779B97F4A7C15)), counter_{0, 0, sample, epoch} {}

  std::uint32_t bits() {
    if (used_ == 4) {
      block_ = Philox::block(key_, counter_);
      if (++counter_[0] == 0) ++counter_[1];
      used_ = 0;
    }
    return block_[used_++];
  }
  float uniform() { return unit_float(bits()); }
  // Uniform in [0, n), without bias. Requires: n > 0.
  std::uint32_t below(std::uint32_t n) {
    for (;;) {
      const std::uint64_t product = std::uint64_t{bits()} * n;
      if (static_cast<std::uint32_t>(product) >= (0U - n) % n) return static_cast<std::uint32_t>(product >> 32);
    }
  }

 private:
  std::uint64_t key_;
  Philox::Block counter_;
  Philox::Block block_{};
  unsigned used_ = 4;
};

} // namespace dlhost
