// Any bytes as what a neighbour leaves of a row: pieces lie within what was read, one behind the other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "param/codec/pieces.h"

using namespace dlhost::param;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto message = message_at(bytes);
  if (!message.ok()) return 0;
  if (message->data() != bytes.data() || message->size() > size) std::abort();
  const auto first = static_cast<std::int64_t>(size % 3), count = static_cast<std::int64_t>(size % 100);
  std::vector<EncodedPiece> pieces;
  if (!read_pieces(*message, first, count, pieces).ok()) return 0;
  std::int64_t at = first;
  for (const EncodedPiece& piece : pieces) {
    if (piece.first != at || piece.count <= 0) std::abort();
    at = piece.end();
    for (const std::byte byte : piece.encoding)
      if (&byte < message->data() || &byte >= message->data() + message->size()) std::abort();
  }
  if (at != first + count) std::abort();
  return 0;
}
