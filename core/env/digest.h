// Digests that stand for bytes in comparisons: BLAKE2b, in hexadecimal. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dlhost::env {

// `bytes`: the length of the digest, 16 to 64; 8 gives the first half of a digest of 16.
std::string digest(std::span<const std::byte>, std::size_t bytes = 32);

// The same for bytes that come piece by piece. Allocates nothing. Thread: one at a time.
class RunningDigest {
 public:
  RunningDigest();
  void add(std::span<const std::byte>);
  // The first 8 bytes of the digest of all bytes added so far, as a number.
  std::uint64_t so_far() const;

 private:
  static constexpr std::size_t state_bytes = 384; // of libsodium's state
  alignas(64) std::array<std::byte, state_bytes> state_;
};

} // namespace dlhost::env
