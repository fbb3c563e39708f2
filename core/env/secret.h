// What the processes of a job know one another by: drawn once, handed over in memory or in a file that its owner alone
// reads, and never told to people.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace dlhost::env {

using Secret = std::array<unsigned char, 32>;

Secret draw_secret();
// As text of 64 hexadecimal digits, and back; none: it is no such text.
std::string to_text(const Secret&);
std::optional<Secret> secret_in(std::string_view text);
// Whether users beside the file's owner and group may read it.
bool others_may_read(const std::string& path);

} // namespace dlhost::env
