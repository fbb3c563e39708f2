// The caller's last message on a link: the total number of its messages over the wire.
#pragma once

#include <cstdint>
#include <optional>

#include "meeting/link.h"

namespace dlhost::plugins::fabric {

inline constexpr std::size_t goodbye_bytes = 8;

inline void say_goodbye(meeting::Link& link, std::uint64_t messages) {
  std::string bytes;
  for (std::size_t i = 0; i < goodbye_bytes; ++i) bytes += static_cast<char>(messages >> (8 * i) & 0xFF);
  link.say(bytes);
}

// None: not yet received. Errors: malformed.
inline Result<std::optional<std::uint64_t>> goodbye_of(meeting::Link& link) {
  const std::string& heard = link.heard();
  if (heard.size() > goodbye_bytes) return Status::corrupt("it sends more than a goodbye");
  if (heard.size() < goodbye_bytes) return std::optional<std::uint64_t>();
  std::uint64_t messages = 0;
  for (std::size_t i = 0; i < goodbye_bytes; ++i)
    messages |= std::uint64_t{static_cast<unsigned char>(heard[i])} << (8 * i);
  return std::optional(messages);
}

} // namespace dlhost::plugins::fabric
