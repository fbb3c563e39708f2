#include "record/masked_crc.h"

#include <array>

namespace dlhost::record {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t castagnoli = 0x82f63b78; // bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? castagnoli : 0);
    table[byte] = rest;
  }
  return table;
}

constexpr auto table = make_table();

} // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t rest = ~0u;
  for (const char byte : bytes) rest = (rest >> 8) ^ table[(rest ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~rest;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

} // namespace dlhost::record
