// The post of one task: sends and receives the table's messages, and updates mirrors of memory (remote_copy.h). It is
// the only channel between tasks. A seat is the number of a task in the run. Seats of one machine reach one another by
// the transport `near`, which maps memory; seats of different machines by `far`, which puts.
//
// A seat of another machine gets bundles: the messages since the last flush, with the bytes shown with them if these
// are few.
//
// Order: of the puts that wait for another machine, those of slices with lower numbers go first, because these are in
// the bottom layers (PutQueue). Messages of one slice keep their order. No message overtakes a message of no slice, or
// a put that it depends on.
//
// Losses: transports deliver messages whole, once and in order. The inbox checks this by sequence numbers: it drops a
// repeated message, and if one is missing, the sender counts as gone, so that no task waits forever. Messages of
// another attempt of the run, whose workers may still live, are dropped unread.
//
// Thread: the task's. Only progress() blocks, up to its limit. Messages and puts that a transport has no room for wait
// in queues. Does not allocate during steps, after open().
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/circular_buffer.hpp>

#include <dlhost/transport.h>

#include "param/message/bundle.h"
#include "param/message/encrypted_endpoint.h"
#include "param/message/endpoint_buffers.h"
#include "param/message/inbox.h"
#include "param/message/protocol.h"
#include "param/message/put_queue.h"
#include "param/message/remote_copy.h"
#include "record/traffic.h"

namespace dlhost::param {

// Receives the messages.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;
  virtual Status take(std::uint32_t from, const Body&) = 0;
  // A seat is gone. Returns true if the run continues without it: then messages to it are dropped.
  virtual Result<bool> lose(std::uint32_t) { return false; }
};

class Post {
 public:
  struct Setup {
    Host* host = nullptr;
    Transport* near = nullptr; // to seats of this machine; null: there are none
    Transport* far = nullptr;  // to seats of other machines; null: there are none
    std::uint32_t seat = 0;
    std::vector<std::uint32_t> machines;                // of each seat
    std::uint32_t epoch = 0;                            // the attempt of the run, the same for all seats
    std::string host_name = {};                         // this machine's name; empty: there is one machine
    std::span<const std::byte> secret;                  // the job's; empty: all seats are of one process
    std::optional<EncryptedEndpoint::What> sealed = {}; // encrypted on the way to other machines; none: nothing
    std::size_t credit = 0; // the most messages of this task that are under way to one machine
    // The most bytes of puts under way to one machine: about as many as a link carries in a while. More would not be
    // faster, would overflow a busy machine, and would delay urgent puts. A single put may be larger.
    std::size_t under_way = std::size_t{4} << 20;
  };
  static Result<std::unique_ptr<Post>> open(const Setup&);

  // The addresses at which other tasks reach this one.
  struct Addresses {
    std::string near, far;
    std::string host_name = {}; // as in Setup
  };
  std::uint32_t seat() const { return seat_; }
  // The most messages that may be under way to one machine.
  std::size_t credit() const { return ways_.front().outbox.capacity(); }
  Addresses addresses() const;
  Status connect(std::uint32_t seat, const Addresses&);
  // Connects to the new process of a seat that was lost.
  Status reconnect(std::uint32_t seat, const Addresses&);
  // Drops messages to a seat that the run continues without, before the transport reports that it is gone.
  void forget(std::uint32_t seat) { drop_messages(seat, line_to(seat)); }
  // True if the seat is on another machine.
  bool is_far(std::uint32_t seat) const { return machines_[seat] != machines_[seat_]; }

  // Memory that other tasks see, or a mirror that the tasks of this machine share.
  Result<SharedMemory> allocate(std::size_t bytes);
  // A mirror for this task alone.
  Result<SharedMemory> allocate_mirror(std::size_t bytes);
  // Maps memory of another seat. Requires: the seat is on this machine.
  Result<std::unique_ptr<Region>> map(std::uint32_t seat, std::string_view key);

  // Registers a mirror of this task under its number. Bytes that arrive inside messages are copied into it.
  void know(std::uint32_t number, std::span<std::byte> mirror) { inbox_.know(number, mirror); }

  // Ends all traffic. After it, memory that was shown or that others put into may be freed.
  void close();

  const std::vector<std::uint32_t>& gone() const { return gone_; }
  // The number of messages that were dropped because they are of other attempts.
  std::uint64_t stale() const { return inbox_.stale(); }

  // Bytes of this task, and the mirror and offset to which they are copied.
  struct Shown {
    std::span<const std::byte> here;
    const RemoteCopy* there = nullptr;
    std::uint64_t offset = 0;
    record::Cargo cargo = record::Cargo::control;
  };
  // Sends a message: to a seat of this machine at once, to another machine with the next flush. `Taken` waits for other
  // messages or for progress(). The shown bytes are in the mirror when the message arrives.
  // Requires: the shown bytes do not change until the message has arrived; the bytes shown at one place have always the
  // same size, unless all_shown() was true in between.
  Status send(std::uint32_t seat, const Body&, const Shown&);
  Status send(std::uint32_t seat, const Body& body) { return send(seat, body, Shown()); }
  // Copies bytes into a mirror before any message arrives that is sent to its machine from now on.
  // Requires: the bytes do not change, and the mirror lives, until such a message has arrived, or until all_shown().
  Status show(const Shown&);
  // True if all shown bytes have arrived: those for the machine of a seat, or all.
  bool shown_to(std::uint32_t seat) const { return ways_[machines_[seat]].puts.all_done(); }
  bool all_shown() const;
  // True if the transports have taken all messages and puts.
  bool all_sent() const;
  // Hands waiting messages and puts to the transports. progress() does it too.
  Status flush() { return flush(true); }
  // Bytes sent to other machines.
  const record::Freight& freight() const { return freight_; }

  // Hands arrived messages to the handler. Waits up to `limit` for the first.
  // Errors: gone if a peer is gone, with its worker and machine; those of the handler.
  Status progress(MessageHandler&, Nanoseconds limit);

 private:
  explicit Post(const Setup&);

  struct Outgoing {
    std::uint32_t seat = 0;
    Message message;
    std::optional<SliceId> slice; // it may overtake messages about other slices
    std::uint64_t put = 0;        // number of the put that it depends on: its own, or the last of its slice; 0: none
    std::uint64_t behind = 0;     // and it depends on all puts up to this number
    Attachment enclosure;
    bool packed = false; // it is in the piece that is being filled
  };
  // True if a task waits for the message.
  static bool hurries(const Outgoing& message_out) {
    return !find_message<to_neighbour::Taken>(message_out.message.body);
  }
  // Messages and puts to one machine.
  struct MachineQueue {
    boost::circular_buffer<Outgoing> outbox;
    PutQueue puts;
    bool hurries = false;                // a task waits for a message in the outbox
    std::uint64_t shows = 0;             // number of the last put that belongs to no slice
    std::vector<std::uint64_t> of_slice; // per slice: number of its last put
  };
  struct Peer {
    bool connected = false;
    bool lost = false; // the run continues without it
    PeerId id = 0;
    std::string host_name = {};
  };

  // A put's cookie is its machine plus a sequence number per machine.
  static constexpr int number_bits = 48;
  static constexpr std::uint64_t cookie_of(std::size_t machine, std::uint64_t number) {
    return std::uint64_t{machine} << number_bits | number;
  }

  Result<std::unique_ptr<EndpointBuffers>> open_line(const Setup&, Transport&) const;
  EndpointBuffers& line_to(std::uint32_t seat) const { return is_far(seat) ? *far_ : *near_; }
  Result<PeerId> peer(std::uint32_t seat) const;
  Status flush(bool all);
  Status flush_messages(MachineQueue&);
  Status flush_puts(MachineQueue&);
  std::uint64_t add_put(MachineQueue&, const Shown&, std::int64_t rank);
  // True if the puts that the message depends on have arrived, or will arrive before it.
  bool may_go(const MachineQueue&, const Outgoing&) const;
  // Writes messages for one seat into a piece, and sets the seat. Returns the part of the piece that is filled.
  std::span<const std::byte> fill(MachineQueue&, std::span<std::byte> piece, std::optional<std::uint32_t>& seat);
  // Calls `act` with each message that may go now. If `act` returns false, the message stays and holds back the later
  // ones that must not overtake it.
  template <class Act> void each_ready(MachineQueue&, Act act);
  bool waits_for_room() const;
  Result<std::size_t> progress_either(Nanoseconds limit, EndpointBuffers*& whose);
  Status deal_with(const Completion&, EndpointBuffers&, MessageHandler&);
  Status hear_gone(std::uint32_t seat, EndpointBuffers&, MessageHandler&);
  void drop_messages(std::uint32_t seat, EndpointBuffers&);
  Status receive(const Completion&, EndpointBuffers&, MessageHandler&);
  bool is_any_out_of_reach() const; // of the other workers
  Status open_bundle(std::span<const std::byte>, std::uint32_t from, MessageHandler&);
  Status open_message(const BundleReader::Entry&, std::uint32_t from, MessageHandler&);
  std::uint32_t seat_of(PeerId, const EndpointBuffers&) const; // the number of seats: the peer is unknown
  std::string name_of(std::uint32_t seat) const;               // for error messages

  Host& host_;
  const std::uint32_t seat_, epoch_;
  const std::string host_name_;
  const std::vector<std::uint32_t> machines_;
  std::unique_ptr<EndpointBuffers> near_, far_;
  std::vector<Peer> peers_;         // of each seat
  std::vector<std::uint16_t> sent_; // per seat: messages sent to it
  Inbox inbox_;
  std::vector<MachineQueue> ways_;  // to each machine
  std::vector<std::uint64_t> held_; // per slice: the last pass over an outbox that left a message of it there
  std::uint64_t looks_ = 0;         // passes over outboxes
  std::vector<Completion> completions_;
  std::vector<std::uint32_t> gone_;
  record::Freight freight_;
};

} // namespace dlhost::param
