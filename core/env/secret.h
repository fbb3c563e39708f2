// The secret by which processes of a job authenticate. Drawn once; passed in memory or in a file that only its owner
// can read; never shown to people.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace dlhost::env {

using Secret = std::array<unsigned char, 32>;

Secret draw_secret();
// As 64 hexadecimal digits, and back; none: malformed text.
std::string to_text(const Secret&);
std::optional<Secret> secret_in(std::string_view text);
// Whether users other than the file's owner and group may read it.
bool others_may_read(const std::string& path);

} // namespace dlhost::env
