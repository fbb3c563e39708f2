// What a message carries beside its bytes, by which its receiver knows whose it is and the how manieth, and believes
// both: in what providers deliver with a message, 64 bits of data and a tag.
//
//   data   16 bits   the sender's number at the receiver
//          48        the message's number, counted from where the key of their meeting says
//   tag    32        the receiver's token, or as much of it as the provider's tags have room for
//          32        as the sender's owner gave it
//
// Who has not met the receiver has to guess. Rooms are given for messages with the token: what has another fits none,
// and waits for ever with whoever sent it. Of numbers, few are believed.
#pragma once

#include <cstdint>
#include <optional>

#include "meeting/link.h"

namespace dlhost::plugins::fabric {

struct Stamp {
  std::uint64_t data = 0, tag = 0;

  std::uint32_t sender() const { return static_cast<std::uint32_t>(data >> 48); }
};

// Of the messages that go one way between two.
class Stamps {
 public:
  // So far ahead of the next a message may come: more never wait for one peer, with much to spare.
  static constexpr std::uint64_t window = std::uint64_t{1} << 14;

  // Of a link on which both have met: the caller's messages.
  explicit Stamps(const meeting::Link&);

  Stamp of(std::uint64_t message, std::uint64_t tag) const {
    return {sender_ | ((first_ + message) & number_mask), token_ | tag};
  }
  // By how many a message is ahead of that number. Nothing: it is a stranger's, or came before.
  std::optional<std::uint64_t> ahead(const Stamp& stamp, std::uint64_t message) const {
    const std::uint64_t by = (stamp.data - first_ - message) & number_mask;
    return by < window ? std::optional(by) : std::nullopt;
  }

 private:
  static constexpr std::uint64_t number_mask = (std::uint64_t{1} << 48) - 1;

  std::uint64_t sender_, token_, first_ = 0;
};

} // namespace dlhost::plugins::fabric
