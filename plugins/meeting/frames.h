// Messages on a link after the handshake. Each has its length, and is encrypted and sealed (ChaCha20-Poly1305) with a
// key of this meeting and its sequence number. So changed, dropped, replayed and foreign messages are detected.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dlhost/status.h>

#include "link.h"

namespace dlhost::plugins::meeting {

inline constexpr std::size_t longest_frame = std::size_t{1} << 24; // of the payload

class Frames {
 public:
  Frames(const Key& own, const Key& theirs) : own_(own), theirs_(theirs) {}
  // Requires: the link has met. One for each side.
  static Frames of_caller(const Link& link) { return {link.key("of the caller"), link.key("of the callee")}; }
  static Frames of_callee(const Link& link) { return {link.key("of the callee"), link.key("of the caller")}; }

  Status seal(std::string_view words, std::string& out);
  // The next complete message, removed from `heard`. Errors: the link must not be used any more.
  Result<std::optional<std::string>> open(std::string& heard);

 private:
  Key own_, theirs_;
  std::uint64_t said_ = 0, taken_ = 0;
};

} // namespace dlhost::plugins::meeting
