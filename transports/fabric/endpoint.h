// An endpoint of the fabric transport. Messages go over one of libfabric's providers, each directly from the sender's
// memory into the receiver's room. Beside them is a link to each peer, on which the two sides meet and notice each
// other's end.
//
// A message carries its sender's ticket from their meeting, and a sequence number (stamps.h): providers may finish a
// long message after a short one that was sent later.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/circular_buffer.hpp>

#include <dlhost/transport.h>

#include "address.h"
#include "goodbye.h"
#include "meeting/door.h"
#include "operation.h"
#include "stamps.h"
#include "wire.h"

namespace dlhost::plugins::fabric {

using meeting::Door, meeting::Link, meeting::Secret, meeting::Socket, meeting::Ticket;

inline constexpr std::size_t largest_message = std::size_t{1} << 32;

struct Setup {
  std::string provider;                 // "": the best available
  std::string listen = "127.0.0.1";     // an address, or a network in which this machine has one
  Nanoseconds silence = 10'000'000'000; // silence of a machine that counts as its end
  Secret secret{};
};

class FabricEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(Host&, std::string_view name, const Setup&);
  // The capabilities of endpoints with this setup.
  static Transport::Capabilities capabilities(const Setup&);
  ~FabricEndpoint() override;

  std::string address() const override { return own_; }
  bool puts_in_order() const override { return wire_->puts_in_order(); }
  Result<PeerId> connect(std::string_view address) override;
  void disconnect(PeerId) override;
  Status post_send(PeerId, std::uint64_t tag, std::span<const std::byte>, std::uint64_t cookie) override;
  Status post_recv(std::span<std::byte>, std::uint64_t cookie) override;
  Result<std::unique_ptr<Region>> allocate(std::size_t bytes) override;
  Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) override;
  Status put(PeerId, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
             std::uint64_t cookie) override;
  Status get(PeerId, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
             std::uint64_t cookie) override;
  Result<std::unique_ptr<Region>> map(PeerId, std::string_view key) override;
  Result<std::size_t> progress(std::span<Completion>, Nanoseconds limit) override;
  void wake() override;

  // The number of callers without the job's secret, and of messages with the token that no peer has sent.
  std::uint64_t strangers() const { return door_.strangers(); }
  std::uint64_t strays() const { return strays_; }

 private:
  // A message that overtook an earlier one; fewer than Stamps::window for one peer.
  struct Early {
    std::uint64_t number = 0;
    Completion completion;
  };
  struct Peer {
    Address address;
    std::string text;
    fi_addr_t at = FI_ADDR_UNSPEC;
    std::unique_ptr<Link> out, in;                    // the link that this side called on, and the peer's
    boost::circular_buffer<Operation*> under_way{16}; // in order
    std::size_t posted = 0;                           // number of posted ones
    std::uint64_t sent = 0, come = 0;                 // numbers of messages
    std::optional<Stamps> outgoing, incoming;         // of these messages, after meeting on `out` and on `in`
    std::vector<Early> early;
    Nanoseconds heard = 0; // for an ended peer: the last time a message came; 0: one has come since the last look
    Status end;            // for an ended peer: the cause
    ssize_t refused = 0;   // why the wire takes nothing for this peer
    Nanoseconds call_after = 0, called_in_vain = 0; // the time of the next call; the first one in vain
    bool told_gone = false;
  };

  FabricEndpoint(Host& host, const Setup& setup, std::shared_ptr<Wire> wire, Door door);
  Result<PeerId> known(const std::string& address);
  Result<Peer*> peer(PeerId);
  Status watch(int socket);
  meeting::Terms terms() const { return {"fabric", setup_.secret, own_, setup_.silence}; }

  bool leaves_at_once(Peer&, std::uint64_t tag, std::span<const std::byte>);
  Status post(PeerId, const Operation&);
  Status needs_one_sided() const;
  Result<Operation> reach(Operation, std::string_view key, std::uint64_t offset);
  // Gives waiting operations to the wire.
  bool flush(PeerId, Peer&);
  bool hand_over(Peer&, Operation&); // false: not now
  void flush_rooms();
  // Does all pending work; true: there was some.
  bool turn();
  bool read_queue();
  void read_error();
  void done(const fi_cq_tagged_entry&);
  void arrived(Operation&, const Stamp&, std::size_t bytes);
  void drop_stray();
  void tell_in_order(Peer&);
  void tell_done(Peer&);
  void complete(const Completion&);
  std::size_t hand_out(std::span<Completion>);

  void look_at_links();
  void admit(std::unique_ptr<Link>);
  void look_at(PeerId, Peer&, Nanoseconds now);
  void call_again(PeerId, Peer&, const Status&, Nanoseconds now);
  void end(PeerId, Peer&);
  void broke(PeerId, Peer&, const Status&);
  void bury(PeerId, Peer&);
  void let_go(Peer&);
  void say_goodbye();
  void sleep(Nanoseconds limit);

  Host& host_;
  const Setup setup_;
  std::string own_;
  std::shared_ptr<Wire> wire_;    // also held by regions
  const std::size_t inject_size_; // size up to which the wire takes a message without a completion
  const std::uint64_t token_;     // in the tags of messages to this endpoint
  Door door_;
  Socket watched_, waker_; // an epoll and an event descriptor
  Operations operations_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::size_t waiting_ = 0;      // operations not yet on the wire
  std::deque<Operation*> rooms_; // rooms not yet on the wire
  boost::circular_buffer<Completion> done_{64};
  std::atomic<bool> woken_{false};
  Nanoseconds spin_ = 50'000; // polling time before a waiting task yields its core
  int unlooked_ = 0;          // completions handed out since the last look at the wire
  Nanoseconds looked_ = 0;    // the last look at the links
  std::uint64_t strays_ = 0;  // messages that no peer has sent
};

} // namespace dlhost::plugins::fabric
