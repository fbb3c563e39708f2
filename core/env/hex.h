// Bytes as hexadecimal text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlhost::env {

std::string hex(std::string_view bytes);
// None: malformed text.
std::optional<std::string> from_hex(std::string_view text);

} // namespace dlhost::env
