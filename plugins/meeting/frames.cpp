#include "frames.h"

#include <array>

#include <sodium.h>

namespace dlhost::plugins::meeting {
namespace {

constexpr std::size_t head_bytes = 4, frame_seal = crypto_aead_chacha20poly1305_ietf_ABYTES;
using Number = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;
static_assert(std::tuple_size_v<Key> == crypto_aead_chacha20poly1305_ietf_KEYBYTES);

Number number_of(std::uint64_t message) {
  Number number{};
  for (std::size_t i = 0; i < 8; ++i) number[i] = static_cast<unsigned char>(message >> (8 * i));
  return number;
}

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

} // namespace

Status Frames::seal(std::string_view words, std::string& out) {
  if (words.size() > longest_frame)
    return Status::no_space("a message of ", words.size(), " bytes; at most ", longest_frame, " are allowed");
  const std::size_t size = words.size() + frame_seal;
  std::string head;
  for (std::size_t i = 0; i < head_bytes; ++i) head += static_cast<char>(size >> (8 * i) & 0xFF);
  std::string sealed(size, '\0');
  crypto_aead_chacha20poly1305_ietf_encrypt(bytes(sealed), nullptr, bytes(words), words.size(),
                                            bytes(std::string_view(head)), head.size(), nullptr,
                                            number_of(said_++).data(), own_.data());
  out += head;
  out += sealed;
  return {};
}

Result<std::optional<std::string>> Frames::open(std::string& heard) {
  if (heard.size() < head_bytes) return std::optional<std::string>();
  std::size_t size = 0;
  for (std::size_t i = 0; i < head_bytes; ++i) size |= std::size_t{static_cast<unsigned char>(heard[i])} << (8 * i);
  if (size < frame_seal || size > longest_frame + frame_seal)
    return Status::corrupt("it announces a message of ", size, " bytes");
  if (heard.size() < head_bytes + size) return std::optional<std::string>();
  const std::string_view head = std::string_view(heard).substr(0, head_bytes);
  const std::string_view sealed = std::string_view(heard).substr(head_bytes, size);
  std::string words(size - frame_seal, '\0');
  if (crypto_aead_chacha20poly1305_ietf_decrypt(bytes(words), nullptr, nullptr, bytes(sealed), sealed.size(),
                                                bytes(head), head.size(), number_of(taken_).data(),
                                                theirs_.data()) != 0)
    return Status::corrupt("it sends a frame that was not sealed for this connection");
  ++taken_;
  heard.erase(0, head_bytes + size);
  return std::optional(std::move(words));
}

} // namespace dlhost::plugins::meeting
