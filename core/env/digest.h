// What stands for bytes where they are compared: BLAKE2b, in hexadecimal. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dlhost::env {

// `bytes` of the digest: 16 to 64, or the first 8 of 16.
std::string digest(std::span<const std::byte>, std::size_t bytes = 32);

// The same of bytes that come piece by piece. Allocates nothing. Thread: one at a time.
class RunningDigest {
 public:
  RunningDigest();
  void add(std::span<const std::byte>);
  // Of all that was added so far: the first 8 bytes of its digest, as a number.
  std::uint64_t so_far() const;

 private:
  static constexpr std::size_t state_bytes = 384; // libsodium's
  alignas(64) std::array<std::byte, state_bytes> state_;
};

} // namespace dlhost::env
