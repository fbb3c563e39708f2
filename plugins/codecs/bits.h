// Packs codes of up to 8 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dlhost::plugins {

class Bits {
 public:
  explicit Bits(int width) : width_(static_cast<std::size_t>(width)) {}
  std::size_t bytes(std::size_t count) const { return (count * width_ + 7) / 8; }

  // Packs or unpacks the codes from `first` on; `first` is a multiple of 8. The byte spans hold all codes.
  void pack(std::span<const std::uint8_t> codes, std::size_t first, std::span<std::byte> out) const {
    std::byte* to = &out[first / 8 * width_];
    for (std::size_t i = 0; i < codes.size(); i += 8, to += width_) {
      const std::size_t count = std::min<std::size_t>(8, codes.size() - i);
      std::uint64_t eight = 0;
      for (std::size_t k = 0; k < count; ++k) eight |= std::uint64_t{codes[i + k]} << (k * width_);
      std::memcpy(to, &eight, bytes(count));
    }
  }
  void unpack(std::span<const std::byte> in, std::size_t first, std::span<std::uint8_t> codes) const {
    const auto mask = static_cast<std::uint8_t>((1U << width_) - 1);
    const std::byte* from = &in[first / 8 * width_];
    for (std::size_t i = 0; i < codes.size(); i += 8, from += width_) {
      const std::size_t count = std::min<std::size_t>(8, codes.size() - i);
      std::uint64_t eight = 0;
      std::memcpy(&eight, from, bytes(count));
      for (std::size_t k = 0; k < count; ++k) codes[i + k] = static_cast<std::uint8_t>(eight >> (k * width_)) & mask;
    }
  }

 private:
  static_assert(std::endian::native == std::endian::little, "eight codes are put together in a whole number");
  std::size_t width_;
};

} // namespace dlhost::plugins
