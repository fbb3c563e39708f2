// Syncs: how servers in several server groups that own the same slices bring their values together, along a topology.
//
// An exchange is about what each server has learned since the last exchange: the difference between its value and the
// common value then. After an exchange every rank has the sum of all differences; core computes the new common value
// from it. Alternatively the gradient of each version is exchanged before the version is made: then all make the same
// version from the sum. Or the workers' contributions themselves, which core sends to all.
//
// A sync decides which rank sends which part to which other, and what is added to what, as a state machine; core moves
// the bytes and computes the sums. Every rank has two rows of elements: its start row, which does not change, and its
// made row, whose elements are undefined until they are replaced.
//
//   core                                         Exchange          then core
//   an exchange of the slice starts              begin             does the steps: sends, and awaits messages
//   an awaited message of a peer is here         arrived           adds it or replaces by it, then does the new steps
//   the steps contained `done`                                     uses the made row; the next begin may come
//
// Rules for the steps of all ranks of an exchange:
// - Each add or replace from a peer has one send of that peer with the same round, first and count, and no send is left
//   over. A pair of ranks uses a round once in each direction.
// - A message is read in place. A rank must not overwrite a sent part of its made row until a message has arrived that
//   proves that the part was read.
// - All ranks end with the same bits, whatever the order in which messages come. So sums have a fixed order.
// - One call appends at most 4 steps for each rank. A rank awaits at most 4 messages for each rank at a time, and as
//   many come before it awaits them. An exchange has at most 64 steps for each rank.
// - The steps of a rank follow from its rank, the count, the hosts and the elements. Core also asks for them in a dry
//   run, to measure the memory that messages need.
//
// With a codec, parts are encoded when sent, and the sender's part becomes what the others decode. Then also:
// - A sent part is new, or is made of whole parts that were sent or came as wholes. It does not cut through one.
// - A part of its own start row that a rank sends is sent no later than in the call whose steps add it or replace by
//   it. If such steps take a part of which something was sent, they take exactly the part that was sent.
// - If the codec needs the whole matrix, core passes one element, which stands for the whole slice.
//
// Thread: one task calls all functions of a Sync and of its exchanges. Each worker has its own objects.
// Memory: begin, arrived and traits are called in the step loop and allocate nothing. `out` has room for the steps.
// Forbidden in every call: to block, read a clock, or keep a reference to an argument after the call.
// Errors: no function returns one. Core checks each step; one that it cannot do ends the run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dlhost/kind.h>
#include <dlhost/updater.h>

namespace dlhost {

// One action for core. Steps are done in their order, except that sends of the start row go first. An add or a replace
// waits for its message; later steps do not wait for it.
struct SyncStep {
  enum class Act : std::uint8_t {
    send,    // send a part of a row to a peer. Requires: not to the rank itself
    add,     // add the peer's message of that round to the made row
    replace, // replace that part of the made row by the message
    done,    // the made row is the sum of all start rows. Requires: the last step, and no message is awaited
  } act = Act::done;
  std::uint32_t peer = 0; // send: the receiver; add and replace: the sender. The rank itself: its start row, at once
  std::int64_t first = 0, count = 0; // elements of the row; a part may be empty
  std::uint32_t round = 0;           // separates messages between the same two peers
  bool made = false;                 // send: from the made row; else from the start row
};

// One rank's state in the exchanges of a slice, or of a section of a large one, one after another.
class DLHOST_API Exchange {
 public:
  virtual ~Exchange();

  // An exchange starts: appends the first steps.
  // Called: once for each exchange, after the last one was done. Also in the middle of one, after a death or a pause
  //   that changes the workers: no message of the old one comes then.
  // Requires: it resets all that an exchange leaves behind. With one rank the steps make the made row and end.
  virtual void begin(std::vector<SyncStep>& out) = 0;

  // An awaited message is here: appends the next steps. Core adds it or replaces by it after the call, before these
  // steps.
  // Called: once for each add or replace from a peer, in the order in which messages come. Never for a message that no
  //   step awaits: core keeps it until one does.
  virtual void arrived(std::uint32_t peer, std::uint32_t round, std::vector<SyncStep>& out) = 0;
};

class DLHOST_API Sync : public Plugin {
 public:
  static constexpr Kind kind = Kind::sync;

  // Core refuses a job whose sync
  //   gossips, if its consistency handler keeps all groups in step (joint, with staleness 0);
  //   is of gradients or contributions, if `every` is not 1, or if a handler does not keep all groups in step.
  // It refuses codec_for = "exchanges" with a sync of contributions or gossip, and with Of::learned if the codec loses
  // values. It refuses topology.replicas with a sync that does not gossip.
  struct Traits {
    enum class Of : std::uint8_t {
      learned,       // the differences since the last exchange
      gradients,     // of each version, before it is made: all make the same version from their sum
      contributions, // all workers' contributions: all make the same versions, and nothing else is exchanged. No join()
    } of = Of::learned;
    // For Of::learned:
    bool averages = true;    // the common value moves by the mean of all differences; else by the sum. Gossip: ignored
    std::uint32_t every = 1; // updates of a slice between two exchanges, at least 1
  };
  // The participants, as seen by one of them.
  struct Ranks {
    std::uint32_t rank = 0, count = 1;
    // Of each rank, ascending: ranks of one host reach each other through memory. Valid until join() returns.
    std::span<const std::uint32_t> hosts;
  };

  // Asked: what core may rely on.
  // Called: often, also in the step loop. Requires: the same answer for the whole life of the object.
  virtual Traits traits() const = 0;

  // Makes the state of one rank in the exchanges of a row of so many elements, at least 1.
  // Owns: the caller owns it. The Sync lives longer.
  // Called: before the first step. Once for each slice or section, and again for dry runs.
  // Default: null, for a sync that gossips. Requires: not null if neighbours() is empty and the sync is not of
  //   contributions.
  virtual std::unique_ptr<Exchange> join(const Ranks&, std::int64_t elements) const;

  // Gossip instead of exchanges: the neighbours of a rank, in a connected graph without cycles. Each rank sends its
  // neighbours the differences that they lack, its own and those from others, whenever they are due and the last
  // message was read. No rank waits; the value moves by every message.
  // Called: before the first step, and when a server group is lost or replaced, also for other ranks and counts.
  // Requires: a function of its arguments. A neighbour of a rank has that rank as a neighbour. A sync that makes
  //   exchanges names none for any rank and count; core asks for rank 0 of two.
  // Default: empty.
  virtual std::vector<std::uint32_t> neighbours(std::uint32_t rank, std::uint32_t count) const;

  // How the common value moves, for exchanges with Of::learned: a rule whose gradient is the mean or sum of all
  // differences, and whose history all ranks keep alike. Its rate is 1. Others ignore it.
  // Owns: the Sync owns the updater; each call returns the same.
  // Called: before the first step. The updater's scalars() are called in the step loop, once for each exchange and
  //   section. When::update is the number of the exchange, from 1.
  // Requires: the rule has no partials, since a server does not have the whole param.
  // Default: null: the value moves by exactly that mean or sum.
  virtual const Updater* outer() const;
};

} // namespace dlhost
