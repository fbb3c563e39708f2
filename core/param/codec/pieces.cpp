#include "param/codec/pieces.h"

#include <cstring>

namespace dlhost::param {
namespace {

struct Head {
  std::uint64_t pieces = 0, bytes = 0;
};
struct PieceHead {
  std::uint64_t first = 0, count = 0, bytes = 0;
};
static_assert(before_pieces(2) == sizeof(Head) + 2 * sizeof(PieceHead));

} // namespace

void write_heads(std::span<std::byte> message, std::span<const EncodedPiece> pieces) {
  const Head head{pieces.size(), message.size()};
  std::memcpy(message.data(), &head, sizeof head);
  std::byte* place = message.data() + sizeof head;
  for (const EncodedPiece& piece : pieces) {
    const PieceHead of_piece{static_cast<std::uint64_t>(piece.first), static_cast<std::uint64_t>(piece.count),
                             piece.encoding.size()};
    std::memcpy(place, &of_piece, sizeof of_piece);
    place += sizeof of_piece;
  }
}

Result<std::span<const std::byte>> message_at(std::span<const std::byte> memory) {
  Head head;
  if (memory.size() < sizeof head) return Status::corrupt("a message of pieces in ", memory.size(), " bytes");
  std::memcpy(&head, memory.data(), sizeof head);
  if (head.bytes < sizeof head || head.bytes > memory.size())
    return Status::corrupt("a message of pieces of ", head.bytes, " bytes, where ", memory.size(), " are there");
  return memory.first(head.bytes);
}

Status read_pieces(std::span<const std::byte> message, std::int64_t first, std::int64_t count,
                   std::vector<EncodedPiece>& pieces) {
  pieces.clear();
  const auto wrong = [&] {
    return Status::corrupt("a message whose pieces are not elements ", first, " to ", first + count);
  };
  Head head;
  if (message.size() < sizeof head) return wrong();
  std::memcpy(&head, message.data(), sizeof head);
  if (head.pieces > (message.size() - sizeof head) / sizeof(PieceHead)) return wrong();
  std::size_t place = before_pieces(head.pieces);
  std::int64_t at = first;
  for (std::uint64_t i = 0; i < head.pieces; ++i) {
    PieceHead of_piece;
    std::memcpy(&of_piece, message.data() + sizeof head + i * sizeof of_piece, sizeof of_piece);
    const auto left = static_cast<std::uint64_t>(first + count - at);
    if (of_piece.first != static_cast<std::uint64_t>(at) || of_piece.count == 0 || of_piece.count > left ||
        place > message.size() || of_piece.bytes > message.size() - place)
      return wrong();
    pieces.push_back({at, static_cast<std::int64_t>(of_piece.count), message.subspan(place, of_piece.bytes)});
    at = pieces.back().end();
    place += piece_lines(of_piece.bytes);
  }
  return at == first + count ? Status() : wrong();
}

} // namespace dlhost::param
