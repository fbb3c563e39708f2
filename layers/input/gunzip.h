// Unpacks gzip streams whole. Pure: bytes in, bytes out, so that sources and fuzz targets share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::input {

bool is_gzip(std::span<const std::byte> bytes);

// Several members one after another are one stream, as gzip says. Fails on damaged or cut bytes, and when more than
// `limit` bytes come out: a few packed bytes can stand for very many.
Result<std::vector<std::byte>> gunzip(std::span<const std::byte> packed, std::uint64_t limit);

} // namespace dlhost::input
