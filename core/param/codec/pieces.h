// The layout of a message with pieces of a row that were encoded one by one:
//
//   number of pieces, bytes in all | of each: first element, elements, bytes | the encodings, each aligned to 16 bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::param {

struct EncodedPiece {
  std::int64_t first = 0, count = 0;
  std::span<const std::byte> encoding;
  std::int64_t end() const { return first + count; }
};

constexpr std::size_t piece_lines(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
// Offset of the first encoding.
constexpr std::size_t before_pieces(std::size_t pieces) { return piece_lines(16 + 24 * pieces); }
constexpr std::size_t most_piece_bytes(std::size_t encoding) { return 24 + piece_lines(encoding); }

// Writes the headers of a message that already holds its encodings.
void write_heads(std::span<std::byte> message, std::span<const EncodedPiece>);

// The message at the start of `memory`, which is untrusted.
Result<std::span<const std::byte>> message_at(std::span<const std::byte> memory);
// Reads the pieces. Errors: they are not the elements `first` to `first + count` without gaps.
Status read_pieces(std::span<const std::byte> message, std::int64_t first, std::int64_t count,
                   std::vector<EncodedPiece>&);

} // namespace dlhost::param
