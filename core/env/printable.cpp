#include "env/printable.h"

#include <algorithm>

#include <dlhost/status.h>

namespace dlhost::env {
namespace {

struct Letter {
  std::size_t bytes = 1;
  bool shown = false; // printed unescaped
};

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Printable ASCII, line feed or tab.
bool is_plain(unsigned byte) { return byte == '\n' || byte == '\t' || (byte >= 0x20 && byte < 0x7f); }

// Control characters of the upper half, and marks that change the writing direction.
bool is_hidden(unsigned code) {
  return code < 0xa0 || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// The first letter of `text`. A byte that starts no valid UTF-8 is a letter of its own.
Letter first_of(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return {.bytes = 1, .shown = is_plain(lead)};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  unsigned code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte_at(text, i) & 0x3fU);
  }
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {.bytes = bytes, .shown = !is_hidden(code)};
}

// The number of bytes read from `text` and the number written.
struct Done {
  std::size_t taken = 0, written = 0;
};

Done write_printable(std::string_view text, std::span<char> into) noexcept {
  constexpr std::size_t escaped = 4; // bytes of "\x1b"
  Done done;
  while (done.taken < text.size()) {
    const Letter letter = first_of(text.substr(done.taken));
    const std::size_t bytes = letter.shown ? letter.bytes : escaped * letter.bytes;
    if (bytes > into.size() - done.written) break;
    for (std::size_t i = 0; i < letter.bytes; ++i) {
      const unsigned byte = byte_at(text, done.taken + i);
      char* const out = into.data() + done.written;
      if (letter.shown) {
        *out = static_cast<char>(byte);
      } else {
        out[0] = '\\';
        out[1] = 'x';
        out[2] = "0123456789abcdef"[byte / 16];
        out[3] = "0123456789abcdef"[byte % 16];
      }
      done.written += letter.shown ? 1 : escaped;
    }
    done.taken += letter.bytes;
  }
  return done;
}

} // namespace

std::size_t make_printable(std::string_view text, std::span<char> into) noexcept {
  return write_printable(text, into).written;
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string shown(std::min(longest, 4 * text.size()), '\0');
  const Done done = write_printable(text, shown);
  shown.resize(done.written);
  if (done.taken < text.size()) shown += concat("... (", text.size(), " bytes in all)");
  return shown;
}

} // namespace dlhost::env
