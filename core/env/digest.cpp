#include "env/digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <sodium.h>

namespace dlhost::env {
namespace {

using Hash = crypto_generichash_state;
constexpr std::size_t short_sum = crypto_generichash_BYTES_MIN;
static_assert(std::endian::native == std::endian::little, "a digest's first bytes are the same number everywhere");

} // namespace

std::string digest(std::span<const std::byte> of, std::size_t bytes) {
  // Before sodium_init libsodium uses code that runs on every processor, at half the speed. If it fails, that code
  // stays.
  [[maybe_unused]] static const int ready = sodium_init();
  std::array<unsigned char, crypto_generichash_BYTES_MAX> sum{};
  const std::size_t made = std::max<std::size_t>(bytes, crypto_generichash_BYTES_MIN);
  crypto_generichash(sum.data(), made, reinterpret_cast<const unsigned char*>(of.data()), of.size(), nullptr, 0);
  std::string text(2 * bytes + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), sum.data(), bytes);
  text.pop_back();
  return text;
}

RunningDigest::RunningDigest() : state_{} {
  static_assert(sizeof(Hash) == state_bytes && alignof(Hash) <= 64);
  [[maybe_unused]] static const int ready = sodium_init(); // as above
  crypto_generichash_init(reinterpret_cast<Hash*>(state_.data()), nullptr, 0, short_sum);
}

void RunningDigest::add(std::span<const std::byte> bytes) {
  crypto_generichash_update(reinterpret_cast<Hash*>(state_.data()),
                            reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::uint64_t RunningDigest::so_far() const {
  RunningDigest copy = *this;
  std::array<unsigned char, short_sum> sum{};
  crypto_generichash_final(reinterpret_cast<Hash*>(copy.state_.data()), sum.data(), sum.size());
  std::uint64_t number = 0;
  std::memcpy(&number, sum.data(), sizeof number);
  return number;
}

} // namespace dlhost::env
