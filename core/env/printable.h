// Text that a plugin, a peer or a file brought, made fit for a terminal and for JSON: control characters, what turns
// the direction of writing, and bytes that are no UTF-8 become "\x1b"; line ends and tabs stay. What is too long is
// cut.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dlhost::env {

// Of an exception's text, which says what there is to say in its first lines.
inline constexpr std::size_t longest_foreign_text = 2000;
// Of a whole message or line, which may list many problems.
inline constexpr std::size_t longest_message = 64 * 1024;

// At most `longest` bytes of `text`; a text that was cut says how long it was.
std::string printable(std::string_view text, std::size_t longest);
// Without allocation, for signal handlers: as much of `text` as fits; the number of bytes written.
std::size_t make_printable(std::string_view text, std::span<char> into) noexcept;

} // namespace dlhost::env
