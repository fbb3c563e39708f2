#include "param/server/ledger_chain.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include <fmt/format.h>

namespace dlhost::param {
namespace {

constexpr std::string_view object_end = "}";

// What follows a line's own text, in room of the caller's.
using Tail = std::array<char, LedgerChain::bytes>;
std::string_view tail_of(std::uint64_t digest, Tail& room) {
  const auto end = fmt::format_to_n(room.data(), room.size(), ",\"chain\":\"{:016x}\"}}\n", digest);
  return {room.data(), end.size};
}

} // namespace

std::optional<LedgerChain::End> LedgerChain::end_of(std::string_view file) {
  const auto end = file.rfind('\n');
  if (end == std::string_view::npos || end + 1 < bytes) return {};
  file = file.substr(0, end + 1);
  const std::string_view tail = file.substr(file.size() - bytes);
  constexpr std::size_t before = 10, digits = 16;
  End found{.lines = static_cast<std::uint64_t>(std::ranges::count(file, '\n'))};
  const auto read = std::from_chars(tail.data() + before, tail.data() + before + digits, found.digest, 16);
  Tail room;
  return read.ec == std::errc() && tail == tail_of(found.digest, room) ? std::optional(found) : std::nullopt;
}

void LedgerChain::advance(std::string_view body) {
  digest_.add(std::as_bytes(std::span(body)));
  last_ = digest_.so_far();
  Tail room;
  digest_.add(std::as_bytes(std::span(tail_of(last_, room))));
  ++lines_;
}

void LedgerChain::close(std::string& line) {
  line.resize(line.size() - object_end.size());
  advance(line);
  Tail room;
  line += tail_of(last_, room);
}

bool LedgerChain::takes(std::string_view line) {
  constexpr std::size_t without_end = bytes - 1;
  if (line.size() < without_end) return false;
  LedgerChain next = *this;
  next.advance(line.substr(0, line.size() - without_end));
  Tail room;
  if (line.substr(line.size() - without_end) != tail_of(next.last_, room).substr(0, without_end)) return false;
  *this = next;
  return true;
}

} // namespace dlhost::param
