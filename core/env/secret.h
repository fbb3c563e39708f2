// The secret by which processes of a job authenticate. Drawn once; passed in memory or in a file that only its owner
// can read; never shown to people.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlhost::env {

using Secret = std::array<unsigned char, 32>;

Secret draw_secret();
// As 64 hexadecimal digits, and back; none: malformed text.
std::string to_text(const Secret&);
std::optional<Secret> secret_in(std::string_view text);

// A secret file's owner, group and mode.
struct FileAccess {
  std::uint32_t owner = 0, group = 0, mode = 0;
};
// The users besides its owner that could read a secret file, and the remedy; empty: none. A group may read it
// - if it is the owner's own group (is_own_group), or
// - if the file is root's and this process is in the group: root gave the group the file, as Kubernetes does with
//   fsGroup.
std::string others_who_may_read(const std::string& path, const FileAccess&, bool in_group);
// Of the file at `path`, or at the end of its links. Empty as well if it cannot be examined: opening it says why.
std::string others_who_may_read(const std::string& path);

} // namespace dlhost::env
