// Bytes as text, where text is all that can be written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlhost::env {

std::string hex(std::string_view bytes);
// None: it is no such text.
std::optional<std::string> from_hex(std::string_view text);

} // namespace dlhost::env
