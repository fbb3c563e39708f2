// How deep the tables and lists of a TOML text are nested, found before the text is parsed: the parser and all that
// walks over values recurse, so a text of any depth would end in a stack overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dlhost::config {

// Each part of a dotted key or of a table's header is a level, and so is each list and each inline table. A job that
// people write has less than ten.
inline constexpr std::size_t most_levels = 64;

struct TextPlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1; // in characters, as the parser counts them
};

// Where the text first goes deeper than `most_levels`. Text behind the first error of syntax may be misread; the parser
// does not come there.
std::optional<TextPlace> too_deep_at(std::string_view text);

} // namespace dlhost::config
