// Makes foreign text (of a plugin, a peer or a file) fit for a terminal and for JSON. Control characters, marks of
// writing direction and invalid UTF-8 become escapes such as "\x1b"; line feeds and tabs stay. Long text is cut.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dlhost::env {

// For an exception's text: its first lines say what is important.
inline constexpr std::size_t longest_foreign_text = 2000;
// For a whole message or line, which may list many problems.
inline constexpr std::size_t longest_message = 64 * 1024;

// At most `longest` bytes of `text`; text that was cut ends with its full length.
std::string printable(std::string_view text, std::size_t longest);
// Without allocation, for signal handlers. Writes as much of `text` as fits; returns the number of bytes written.
std::size_t make_printable(std::string_view text, std::span<char> into) noexcept;

} // namespace dlhost::env
