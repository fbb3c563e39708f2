// Unpacks gzip streams as a whole. Pure: bytes in, bytes out, so that sources and fuzz targets share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::input {

bool is_gzip(std::span<const std::byte> bytes);

// Several members in sequence are one stream, as in the gzip standard. Errors: damaged or cut bytes, or more than
// `limit` bytes of output: a few packed bytes can unpack to very many.
Result<std::vector<std::byte>> gunzip(std::span<const std::byte> packed, std::uint64_t limit);

} // namespace dlhost::input
