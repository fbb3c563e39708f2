// The post of one task: sends and receives the table's messages, and brings mirrors of memory up to date; nothing else
// happens between tasks. Seats are the numbers of the tasks of a run, the same for all. Those of one machine reach one
// another by one transport, which maps memory; those of different machines by another, which puts.
//
// To a seat of another machine go bundles: of messages, and what is small of what is shown with them, as many as there
// are between two flushes.
//
// Nothing here blocks but progress(), for as long as it is told. What a transport has no room for waits in an outbox,
// whose size is what may be under way by credit; after open() nothing is allocated in a step.
//
// What goes to another machine is not all on its way at once: of what waits, the slices with lower numbers go first,
// which are those of the bottom layers. Messages of one slice keep their order, and others what they stand behind.
//
// Transports promise that messages come whole, once and in order. They are counted all the same: one that comes twice
// is dropped, and where one is missing its sender counts as gone, so that nobody waits for ever for what was lost. What
// is of another attempt of the run, whose workers may live still, is dropped before anything is done with it.
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
#include "param/message/protocol.h"
#include "param/message/remote_copy.h"
#include "record/traffic.h"

namespace dlhost::param {

// Who acts on messages.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;
  virtual Status take(const Message&) = 0;
  // A seat is gone. True: the others go on without it, and what is sent to it is dropped.
  virtual Result<bool> lose(std::uint32_t) { return false; }
};

class Post {
 public:
  struct Setup {
    Host* host = nullptr;
    Transport* near = nullptr; // to those of this machine; null: there are none
    Transport* far = nullptr;  // to those of others; null: there are none
    std::uint32_t seat = 0;
    std::vector<std::uint32_t> machines; // of each seat
    std::uint32_t epoch = 0;             // which attempt of the run it is, the same for all seats
    std::string host_name = {};          // what this machine is called; empty: there is one
    std::span<const std::byte>
        secret; // by which those of a job know one another on the network; empty: they are one process
    std::optional<EncryptedEndpoint::What> sealed = {}; // of what goes to other machines; none: nothing
    std::size_t credit = 0; // messages of this task that may be on their way at once, to one machine
    // And bytes of what is put there, at most: as many as a link carries in a while. More make nothing faster, overflow
    // where a machine is busy, and let what is wanted first wait. One put always is.
    std::size_t under_way = std::size_t{4} << 20;
  };
  static Result<std::unique_ptr<Post>> open(const Setup&);

  // How others reach this task.
  struct Addresses {
    std::string near, far;
    std::string host_name = {}; // as in Setup
  };
  std::uint32_t seat() const { return seat_; }
  std::uint32_t epoch() const { return epoch_; }
  Addresses addresses() const;
  Status connect(std::uint32_t seat, const Addresses&);
  // One that was lost, as another process.
  Status reconnect(std::uint32_t seat, const Addresses&);
  // One whose loss is borne, though the transport has not said so yet.
  void forget(std::uint32_t seat) { drop_letters(seat, line_to(seat)); }
  // On another machine.
  bool is_far(std::uint32_t seat) const { return machines_[seat] != machines_[seat_]; }

  // Memory that others see, or a mirror that those of this machine share; one that is this task's alone.
  Result<SharedMemory> allocate(std::size_t bytes);
  Result<SharedMemory> allocate_mirror(std::size_t bytes);
  // That of another seat of this machine.
  Result<std::unique_ptr<Region>> map(std::uint32_t seat, std::string_view key);

  // A mirror that this task has made, by a number that it is known by: what is small comes into it with messages.
  void know(std::uint32_t number, std::span<std::byte> mirror);

  // Nothing is sent or heard any more: memory that was shown, or that others put into, may go.
  void close();

  const std::vector<std::uint32_t>& gone() const { return gone_; }
  // Messages of other attempts, which were dropped.
  std::uint64_t stale() const { return stale_; }

  // What lies here, and is to lie there from `offset` on.
  struct Shown {
    std::span<const std::byte> here;
    const RemoteCopy* there = nullptr;
    std::uint64_t offset = 0;
    record::Cargo cargo = record::Cargo::control;
  };
  // To another seat: on this machine at once, else with the next flush; what nobody waits for, when there is nothing
  // else to do. What is shown with it is there when it arrives,
  // and stays here as it is until then; what is shown at one place is always of one size, or all_shown() in between.
  Status send(std::uint32_t seat, Message, const Shown&);
  Status send(std::uint32_t seat, const Message& message) { return send(seat, message, Shown()); }
  // What lies here is to lie there, from `offset` on, before any message arrives that is sent to that machine from now
  // on. It stays as it is until such a message has arrived, or all_shown(). The mirror outlives that as well.
  Status show(const Shown&);
  // All that was shown, to the machine of that seat or to all, is there.
  bool shown_to(std::uint32_t seat) const { return ways_[machines_[seat]].puts_done == ways_[machines_[seat]].puts; }
  bool all_shown() const;
  // The transports have taken all that was sent.
  bool all_sent() const;
  // What was sent goes to the transports. progress() does it as well.
  Status flush() { return flush(true); }
  // What went to other machines.
  const record::Freight& freight() const { return freight_; }

  // Hands over what has arrived, and waits up to `limit` for the first of it. A peer that is gone is a Status that
  // says which, and on which machine.
  Status progress(MessageHandler&, Nanoseconds limit);

 private:
  explicit Post(const Setup&);

  struct Outgoing {
    std::uint32_t seat = 0;
    Message message;
    std::uint64_t put = 0;    // what is put for it, or was last of its slice, by its number; 0: nothing
    std::uint64_t behind = 0; // and behind all up to that one
    Attachment enclosure;
    bool packed = false; // in the piece that is being filled
  };
  // Somebody waits for it.
  static bool hurries(const Outgoing& message_out) { return message_out.message.word != Word::taken; }
  struct Put {
    std::span<const std::byte> here;
    const RemoteCopy* there = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t number = 0; // from 1 on, of its machine
    std::int64_t rank = 0;    // those of lower ones go first
  };
  struct PutState {
    enum class Stage : std::uint8_t { waits, on_its_way, there } stage = Stage::waits;
    std::uint32_t seat = 0;
    std::size_t bytes = 0;
  };
  // What goes to one machine.
  struct MachineQueue {
    boost::circular_buffer<Outgoing> outbox;
    bool hurries = false;                    // somebody waits for what is in it
    boost::circular_buffer<Put> waiting;     // puts that the transport has yet to take
    std::uint64_t puts = 0, puts_done = 0;   // so far; of these, without a gap from the first on
    boost::circular_buffer<PutState> states; // of those behind
    std::uint64_t shows = 0;                 // the last that goes with no letter
    std::vector<std::uint64_t> of_slice;     // the last of each slice
    std::size_t under_way = 0;               // bytes that the transport has taken, and are not there yet
    std::size_t most_under_way = 0;          // by how fast they were so far
    Nanoseconds measured_since = 0;
    std::size_t measured = 0; // that have come there since
  };
  // One of the two transports' endpoints, what arrives there, and what is being sent: endpoints read it to its end.
  struct EndpointBuffers {
    std::size_t largest = message_bytes; // of what it sends in one piece
    std::vector<std::byte> rooms, pieces;
    std::vector<std::uint32_t> free;    // of the pieces
    std::vector<std::uint32_t> to;      // of each piece that is being sent: the seat
    std::unique_ptr<Endpoint> endpoint; // gone first: it uses these to its end

    std::span<std::byte> room(std::size_t which) { return std::span(rooms).subspan(which * largest, largest); }
    std::span<std::byte> piece(std::size_t which) { return std::span(pieces).subspan(which * largest, largest); }
  };
  static constexpr std::uint32_t no_seat = ~std::uint32_t{0};
  struct Peer {
    bool connected = false;
    bool lost = false; // the others go on without it
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
  Status flush_letters(MachineQueue&);
  Status flush_puts(MachineQueue&);
  // The one that goes next, if there is room for it; past the end: none.
  static boost::circular_buffer<Put>::const_iterator next_put(const MachineQueue&);
  std::uint64_t add_put(MachineQueue&, const Shown&, std::int64_t rank);
  // What it is behind is there, or will be when it arrives.
  bool may_go(const MachineQueue&, const Outgoing&) const;
  // Letters that go in one piece, to one seat: what of it they fill.
  std::span<const std::byte> fill(MachineQueue&, std::span<std::byte> piece, std::optional<std::uint32_t>& seat);
  // Those that may go, and whom nothing holds back. Those that the function does not take hold back others.
  template <class Act> void each_ready(MachineQueue&, Act act);
  bool waits_for_room() const;
  void put_done(MachineQueue&, std::uint64_t number);
  void measure(MachineQueue&, std::size_t bytes);
  Result<std::size_t> progress_either(Nanoseconds limit, EndpointBuffers*& whose);
  Status deal_with(const Completion&, EndpointBuffers&, MessageHandler&);
  Status hear_gone(std::uint32_t seat, EndpointBuffers&, MessageHandler&);
  void drop_letters(std::uint32_t seat, EndpointBuffers&);
  Status receive(const Completion&, EndpointBuffers&, MessageHandler&);
  Status open_bundle(std::span<const std::byte>, std::uint32_t from, MessageHandler&);
  Status open_letter(const BundleReader::Entry&, std::uint32_t from, MessageHandler&);
  std::uint32_t seat_of(PeerId, const EndpointBuffers&) const; // past the last one: a stranger
  std::string name_of(std::uint32_t seat) const;               // for people

  Host& host_;
  const std::uint32_t seat_, epoch_;
  const std::string host_name_;
  const std::vector<std::uint32_t> machines_;
  const std::size_t most_under_way_;
  std::unique_ptr<EndpointBuffers> near_, far_;
  std::vector<Peer> peers_;                   // of each seat
  std::vector<std::uint16_t> sent_, heard_;   // messages to and from each
  std::vector<MachineQueue> ways_;            // to each machine
  std::vector<std::span<std::byte>> mirrors_; // by number
  std::vector<std::uint64_t> held_; // of each slice: the last look at an outbox that left a letter of it there
  std::uint64_t looks_ = 0, stale_ = 0;
  std::vector<Completion> completions_;
  std::vector<std::uint32_t> gone_;
  record::Freight freight_;
};

} // namespace dlhost::param
