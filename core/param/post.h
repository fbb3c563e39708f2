// The post of one task: sends and receives the table's messages, and nothing else happens between tasks. Seats are the
// numbers of the tasks of a run, the same for all.
//
// Nothing here blocks but progress(), for as long as it is told. What the transport has no room for waits in an outbox,
// whose size is what may be under way by credit; after open() nothing is allocated.
//
// Transports promise that messages come whole, once and in order. They are counted all the same: one that comes twice
// is dropped, and where one is missing its sender counts as gone, so that nobody waits for ever for what was lost.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <boost/circular_buffer.hpp>

#include <dlhost/transport.h>

#include "param/protocol.h"

namespace dlhost::param {

// Who acts on messages.
class Taker {
 public:
  virtual ~Taker() = default;
  virtual Status take(const Message&) = 0;
};

class Post {
 public:
  // `seats`: how many there are; `credit`: messages of this task that may be on their way at once.
  static Result<std::unique_ptr<Post>> open(Host&, Transport&, std::uint32_t seat, std::uint32_t seats,
                                            std::size_t credit);

  std::uint32_t seat() const { return seat_; }
  Endpoint& endpoint() { return *endpoint_; }
  Status connect(std::uint32_t seat, std::string_view address);
  Result<PeerId> peer(std::uint32_t seat) const;

  const std::vector<std::uint32_t>& gone() const { return gone_; }

  // To another seat.
  Status send(std::uint32_t seat, Message);
  // Hands over what has arrived, and waits up to `limit` for the first of it. A peer that is gone is a Status that
  // says which.
  Status progress(Taker&, Nanoseconds limit);

 private:
  Post(std::uint32_t seat, std::uint32_t seats, std::size_t credit);
  Status flush();
  Status deal_with(const Completion&, Taker&);
  Status receive(const Completion&, Taker&);

  struct Letter {
    std::uint32_t seat = 0;
    std::array<std::byte, message_bytes> bytes{};
  };
  static constexpr std::size_t unconnected = ~std::size_t{0};

  std::uint32_t seat_;
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<std::size_t> peers_;          // of each seat
  std::vector<std::uint16_t> sent_, heard_; // messages to and from each
  std::vector<Letter> letters_;             // being sent, by cookie
  std::vector<std::uint32_t> free_;
  boost::circular_buffer<Letter> outbox_;
  std::vector<std::array<std::byte, message_bytes>> rooms_; // to receive into, by cookie
  std::vector<Completion> completions_;
  std::vector<std::uint32_t> gone_;
};

} // namespace dlhost::param
