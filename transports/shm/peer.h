// Another endpoint, as one endpoint sees it: its inbox, the ring to it, the ring from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/circular_buffer.hpp>

#include "inbox.h"
#include "ring.h"

namespace dlhost::plugins::shm {

// A message being sent.
struct Sending {
  std::span<const std::byte> bytes;
  std::uint64_t tag = 0, cookie = 0;
  std::size_t gone = 0; // bytes in the ring already
};

// A message being received, and its room.
struct Receiving {
  std::span<std::byte> room;
  std::uint64_t cookie = 0, tag = 0;
  std::size_t total = 0, come = 0;
};

class Peer {
 public:
  // Opens the endpoint whose segments start with `owner`.
  static Result<std::unique_ptr<Peer>> open(std::string owner);

  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  const std::string& owner() const { return owner_; }
  Inbox& inbox() const { return *static_cast<Inbox*>(inbox_.data()); }
  // Whether it has closed, or its process has ended: a system call.
  bool has_ended() const;

  // Makes a ring to it and announces it in its inbox.
  Status announce(const std::string& own, std::uint32_t number, const RingShape&);
  // Opens the ring that it has announced.
  Status accept(Slot&);
  bool can_send() const { return out_.has_value(); }
  bool can_receive() const { return in_.has_value(); }
  RingWriter<>& out() { return *out_; }
  RingReader<>& in() { return *in_; }

  boost::circular_buffer<Sending> sending;
  std::optional<Receiving> receiving;
  bool told_gone = false;

 private:
  explicit Peer(std::string owner) : sending(16), owner_(std::move(owner)) {}

  std::string owner_;
  Segment inbox_, out_segment_, in_segment_;
  int process_ = -1;     // a pidfd
  Slot* slot_ = nullptr; // in its inbox
  std::optional<RingWriter<>> out_;
  std::optional<RingReader<>> in_;
};

} // namespace dlhost::plugins::shm
