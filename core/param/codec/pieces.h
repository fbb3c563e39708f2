// Pieces of a row that were encoded one by one, as they lie in one message:
//
//   how many pieces, bytes in all | of each: first element, elements, bytes | the encodings, each on a line of its own
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
// Where the encodings begin.
constexpr std::size_t before_pieces(std::size_t pieces) { return piece_lines(16 + 24 * pieces); }
constexpr std::size_t most_piece_bytes(std::size_t encoding) { return 24 + piece_lines(encoding); }

// Of a message whose encodings are there already.
void write_heads(std::span<std::byte> message, std::span<const EncodedPiece>);

// The message that begins there. From memory of somebody else: nothing in it is believed.
Result<std::span<const std::byte>> message_at(std::span<const std::byte> memory);
// Pieces that are elements `first` to `first + count`, one after the other; else it is corrupt.
Status read_pieces(std::span<const std::byte> message, std::int64_t first, std::int64_t count,
                   std::vector<EncodedPiece>&);

} // namespace dlhost::param
