// The stamp of a message, by which its receiver knows and verifies the sender and the sequence number. It uses what
// providers deliver with each message: 64 bits of data and a tag.
//
//   data   16 bits   the sender's number at the receiver
//          48        the message's number, counted from a start derived from the key of their meeting
//   tag    32        the receiver's token, as far as the provider's tags have room
//          32        the caller's tag
//
// A sender that has not met the receiver must guess. Rooms match only messages with the token: others match none and
// wait forever at the sender. Only numbers within a small window are accepted.
#pragma once

#include <cstdint>
#include <optional>

#include "meeting/link.h"

namespace dlhost::plugins::fabric {

struct Stamp {
  std::uint64_t data = 0, tag = 0;

  std::uint32_t sender() const { return static_cast<std::uint32_t>(data >> 48); }
};

// The stamps of the messages in one direction between two endpoints.
class Stamps {
 public:
  // How far ahead of the next a message may come: far more than can wait for one peer.
  static constexpr std::uint64_t window = std::uint64_t{1} << 14;

  // Requires: both sides have met on the link. For the caller's messages.
  explicit Stamps(const meeting::Link&);

  Stamp of(std::uint64_t message, std::uint64_t tag) const {
    return {sender_ | ((first_ + message) & number_mask), token_ | tag};
  }
  // The distance of a message from that number. None: it is a stranger's, or a duplicate.
  std::optional<std::uint64_t> ahead(const Stamp& stamp, std::uint64_t message) const {
    const std::uint64_t by = (stamp.data - first_ - message) & number_mask;
    return by < window ? std::optional(by) : std::nullopt;
  }

 private:
  static constexpr std::uint64_t number_mask = (std::uint64_t{1} << 48) - 1;

  std::uint64_t sender_, token_, first_ = 0;
};

} // namespace dlhost::plugins::fabric
