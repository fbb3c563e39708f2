#include "env/digest.h"

#include <algorithm>
#include <array>

#include <sodium.h>

namespace dlhost::env {

std::string digest(std::span<const std::byte> of, std::size_t bytes) {
  // Before this libsodium computes with what every processor has, at half the speed. Should it fail, it goes on so.
  [[maybe_unused]] static const int ready = sodium_init();
  std::array<unsigned char, crypto_generichash_BYTES_MAX> sum{};
  const std::size_t made = std::max<std::size_t>(bytes, crypto_generichash_BYTES_MIN);
  crypto_generichash(sum.data(), made, reinterpret_cast<const unsigned char*>(of.data()), of.size(), nullptr, 0);
  std::string text(2 * bytes + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), sum.data(), bytes);
  text.pop_back();
  return text;
}

} // namespace dlhost::env
