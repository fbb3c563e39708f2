// A pseudo-random order of [0, n), as a function: no memory, any place of it in constant time, and another order for
// every key. A Feistel network over the next power of two, walked along its cycle until it is back inside n.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <dlhost/random.h>

namespace dlhost::run {

class Permutation {
 public:
  // n > 0. `pass` tells the orders of one key apart: the epoch.
  Permutation(DrawKey key, std::uint32_t pass, std::uint64_t n) : n_(n) {
    const int bits = n > 2 ? std::bit_width(n - 1) : 2;
    low_bits_ = bits / 2;
    high_bits_ = bits - low_bits_;
    Random draws(key, pass, 0);
    for (auto& round : rounds_) round = std::uint64_t{draws.bits()} << 32 | draws.bits();
  }

  std::uint64_t operator()(std::uint64_t i) const {
    do i = scrambled(i);
    while (i >= n_);
    return i;
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93;
    return x ^ x >> 32;
  }

  // Each half in turn is changed by the other one, which can be undone: so no two places meet.
  std::uint64_t scrambled(std::uint64_t i) const {
    std::uint64_t low = i & ((std::uint64_t{1} << low_bits_) - 1), high = i >> low_bits_;
    for (std::size_t round = 0; round < rounds_.size(); round += 2) {
      high ^= mixed(low ^ rounds_[round]) & ((std::uint64_t{1} << high_bits_) - 1);
      low ^= mixed(high ^ rounds_[round + 1]) & ((std::uint64_t{1} << low_bits_) - 1);
    }
    return high << low_bits_ | low;
  }

  std::uint64_t n_;
  int low_bits_, high_bits_;
  std::array<std::uint64_t, 8> rounds_;
};

} // namespace dlhost::run
