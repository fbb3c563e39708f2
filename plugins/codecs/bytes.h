// Numbers and bits in an encoding, in this machine's byte order: all machines of a job have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <dlhost/status.h>

namespace dlhost::plugins {

template <class T> void put(std::span<std::byte> out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <class T> T get(std::span<const std::byte> in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

inline Status of_size(std::span<const std::byte> in, std::size_t wanted) {
  if (in.size() == wanted) return {};
  return Status::corrupt("an encoding of ", in.size(), " bytes, where ", wanted, " are needed");
}

// Codes of up to 8 bits, one behind the other.
class Bits {
 public:
  explicit Bits(int width) : width_(width) {}
  std::size_t bytes(std::size_t count) const { return (count * static_cast<std::size_t>(width_) + 7) / 8; }

  // Into zeroed bytes.
  void put(std::span<std::byte> out, std::size_t i, unsigned code) const {
    const std::size_t bit = i * static_cast<std::size_t>(width_);
    const unsigned shifted = code << (bit % 8);
    out[bit / 8] |= static_cast<std::byte>(shifted & 0xFFU);
    if (bit % 8 + static_cast<std::size_t>(width_) > 8) out[bit / 8 + 1] |= static_cast<std::byte>(shifted >> 8U);
  }
  unsigned get(std::span<const std::byte> in, std::size_t i) const {
    const std::size_t bit = i * static_cast<std::size_t>(width_);
    unsigned both = static_cast<unsigned>(in[bit / 8]);
    if (bit % 8 + static_cast<std::size_t>(width_) > 8) both |= static_cast<unsigned>(in[bit / 8 + 1]) << 8U;
    return both >> (bit % 8) & ((1U << static_cast<unsigned>(width_)) - 1U);
  }

 private:
  int width_;
};

} // namespace dlhost::plugins
