// Messages on a link of two that have met: each has its length, and is encrypted and sealed (ChaCha20-Poly1305) with a
// key of this meeting and its number, so that what is changed, left out, said again or said in another meeting is seen.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dlhost/status.h>

#include "link.h"

namespace dlhost::plugins::meeting {

inline constexpr std::size_t longest_frame = std::size_t{1} << 24; // of what is in it

class Frames {
 public:
  Frames(const Key& own, const Key& theirs) : own_(own), theirs_(theirs) {}
  // Of a link that has met, on either side.
  static Frames of_caller(const Link& link) { return {link.key("of the caller"), link.key("of the callee")}; }
  static Frames of_callee(const Link& link) { return {link.key("of the callee"), link.key("of the caller")}; }

  Status seal(std::string_view words, std::string& out);
  // The next that is whole; takes it from `heard`. Not ok: nothing that comes after can be believed.
  Result<std::optional<std::string>> open(std::string& heard);

 private:
  Key own_, theirs_;
  std::uint64_t said_ = 0, taken_ = 0;
};

} // namespace dlhost::plugins::meeting
