// A bundle goes to a seat of another machine in one piece: messages in order, some with bytes for a mirror there, which
// are copied before the message is read (remote_copy.h).
//
//   each message: number of the mirror, number of bytes, offset in the mirror; 64 bytes of message; the bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "param/message/protocol.h"

namespace dlhost::param {

// Bytes for a mirror.
struct Attachment {
  std::uint32_t mirror = 0;
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes; // may be empty
};

// Enclosing small data in its message takes less than half the time of a put and a message.
inline constexpr std::size_t bundle_bytes = 36864, most_enclosed = 32768;

// Writes a bundle into `room`. Requires: fits() before add().
class Bundle {
 public:
  explicit Bundle(std::span<std::byte> room) : room_(room) {}
  static constexpr std::size_t bytes_of(std::size_t enclosed) {
    return prefix_bytes + message_bytes + padded(enclosed);
  }
  bool fits(std::size_t enclosed) const { return bytes_of(enclosed) <= room_.size() - at_; }
  void add(std::span<const std::byte, message_bytes>, const Attachment&);
  std::span<const std::byte> written() const { return room_.first(at_); }

  static constexpr std::size_t prefix_bytes = 16;
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

 private:
  std::span<std::byte> room_;
  std::size_t at_ = 0;
};

// Reads an untrusted bundle.
class BundleReader {
 public:
  explicit BundleReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  struct Entry {
    std::span<const std::byte> message;
    Attachment enclosure;
  };
  bool at_end() const { return rest_.empty(); }
  Result<Entry> next();

 private:
  std::span<const std::byte> rest_;
};

} // namespace dlhost::param
