// The checksum of TensorBoard's and TensorFlow's records: CRC-32C, rotated and with a constant added, so that checksums
// of bytes that contain checksums stay good.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlhost::record {

std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc(std::string_view bytes);

} // namespace dlhost::record
