// Reads any bytes from a link of an embedded rendezvous, as frames and as messages, which change the roll.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "meeting/frames.h"
#include "roll.h"
#include "words.h"

using namespace dlhost::plugins;
using dlhost::plugins::rendezvous::Words;

namespace {

constexpr meeting::Key one{1}, other{2};

// Opens the text as it came, and as the content of a sealed frame.
void as_frames(const std::string& text) {
  meeting::Frames caller(one, other), callee(other, one);
  std::string heard = text;
  while (true) {
    const auto opened = callee.open(heard);
    if (!opened.ok() || !*opened) break;
    std::abort(); // the text has no seal
  }
  std::string sealed;
  if (!caller.seal(text, sealed).ok()) std::abort();
  meeting::Frames good(other, one);
  const auto opened = good.open(sealed);
  if (!opened.ok() || !*opened || **opened != text || !sealed.empty()) std::abort();
}

void as_words(rendezvous::Roll& roll, std::string_view bytes) {
  const auto words = rendezvous::decode(bytes);
  if (!words.ok()) return;
  if (rendezvous::encode(*words) != bytes) std::abort();
  switch (words->kind) {
  case Words::Kind::join:
    for (const auto& member : words->members) roll.join(member, words->epoch).status().ignore("any bytes");
    break;
  case Words::Kind::put: roll.put(words->epoch, words->key, words->value).ignore("any bytes"); break;
  case Words::Kind::get: roll.get(words->epoch, words->key).status().ignore("any bytes"); break;
  case Words::Kind::lead: roll.lead(words->rank, words->key); break;
  case Words::Kind::report: roll.report(0, words->rank, words->epoch, words->value); break;
  case Words::Kind::leave: roll.go(words->rank, words->value); break;
  default: break;
  }
  roll.membership(0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  as_frames(text);
  rendezvous::Roll roll(size > 0 ? data[0] % 4 : 0);
  // Several messages, each after a byte with its length.
  for (std::size_t at = 0; at + 1 < text.size();) {
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(text[at]), text.size() - at - 1);
    as_words(roll, std::string_view(text).substr(at + 1, length));
    at += 1 + length;
  }
  as_words(roll, text);
  return 0;
}
