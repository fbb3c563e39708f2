// Finds tables and lists of a TOML text that are nested too deeply, before parsing: the parser and all walks over
// values recurse, so unlimited depth would overflow the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dlhost::config {

// Each part of a dotted key or header is a level, and so is each list and inline table. Jobs written by people have
// less than ten.
inline constexpr std::size_t most_levels = 64;

struct TextPlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1; // in characters, as the parser counts
};

// The place where the text first goes deeper than `most_levels`. Text after the first syntax error may be misread, but
// the parser never gets there.
std::optional<TextPlace> too_deep_at(std::string_view text);

} // namespace dlhost::config
