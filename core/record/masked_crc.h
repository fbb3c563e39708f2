// The checksum of TensorBoard's and TensorFlow's records: CRC-32C, rotated and shifted so that a checksum of bytes
// which hold checksums stays a good one.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlhost::record {

std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc(std::string_view bytes);

} // namespace dlhost::record
