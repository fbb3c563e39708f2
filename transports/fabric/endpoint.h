// An endpoint of the fabric transport: messages over one of libfabric's providers, each straight from the sender's
// memory into the receiver's room, and beside them a link to each peer, on which the two meet and see one another's
// end.
//
// A message says of itself (stamps.h) whose it is, by the ticket that its sender got when they met, and the how
// manieth: providers may finish a long message after a short one that was sent later.
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
  std::string provider;                 // "": the best that there is
  std::string listen = "127.0.0.1";     // an address, or a network that this machine has one in
  Nanoseconds silence = 10'000'000'000; // of a machine, that is taken for its end
  Secret secret{};
};

class FabricEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(Host&, std::string_view name, const Setup&);
  // Of those that are opened so.
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

  // Who called and did not know the job's secret, and messages with the token that none of its peers sends.
  std::uint64_t strangers() const { return door_.strangers(); }
  std::uint64_t strays() const { return strays_; }

 private:
  // A message that came before one that was sent earlier; of one peer there are fewer than Stamps::window.
  struct Early {
    std::uint64_t number = 0;
    Completion completion;
  };
  struct Peer {
    Address address;
    std::string text;
    fi_addr_t at = FI_ADDR_UNSPEC;
    std::unique_ptr<Link> out, in;                    // on which this side called, and that one
    boost::circular_buffer<Operation*> under_way{16}; // in their order
    std::size_t posted = 0;                           // of these
    std::uint64_t sent = 0, come = 0;                 // messages
    std::optional<Stamps> outgoing, incoming;         // of these, once they have met on `out`, and on `in`
    std::vector<Early> early;
    Nanoseconds heard = 0;                          // of one that ends: when nothing had come since; 0: something has
    Status end;                                     // of one that ends: how it came to it
    ssize_t refused = 0;                            // why the wire takes nothing for it
    Nanoseconds call_after = 0, called_in_vain = 0; // the next time; since when
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
  // What waits for the wire to take it.
  bool flush(PeerId, Peer&);
  bool hand_over(Peer&, Operation&); // false: not now
  void flush_rooms();
  // All that can be done now; true: something was.
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
  std::shared_ptr<Wire> wire_;    // regions keep it as well
  const std::size_t inject_size_; // messages up to which the wire takes without a completion
  const std::uint64_t token_;     // that messages to it have in their tags
  Door door_;
  Socket watched_, waker_; // an epoll file, an event file
  Operations operations_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::size_t waiting_ = 0;      // operations that the wire has not taken yet
  std::deque<Operation*> rooms_; // that it has not taken yet
  boost::circular_buffer<Completion> done_{64};
  std::atomic<bool> woken_{false};
  Nanoseconds spin_ = 50'000; // how long who waits looks before it lends its core
  int unlooked_ = 0;          // times that completions were handed out since the wire was looked at
  Nanoseconds looked_ = 0;    // at the links
  std::uint64_t strays_ = 0;  // messages that none of its peers sends
};

} // namespace dlhost::plugins::fabric
