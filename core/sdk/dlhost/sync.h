// Syncs: how servers in several server groups that own the same slices bring their values together, along a topology.
//
// An exchange is about what each server has learned since the last exchange: the difference between its value and the
// common value then. After an exchange every rank has the sum of all differences; core computes the new common value
// from it. Alternatively the gradient of each version is exchanged before the version is made: then all make the same
// version from the sum. Or the workers' contributions themselves, which core sends to all.
//
// A sync decides which rank sends which part to which other, and what is added to what, as a state machine that never
// blocks; core moves the bytes and computes the sums. Every rank has two rows of elements: its start row, which does
// not change, and its made row, whose elements are undefined until they are replaced.
//
// With a codec, parts are encoded when sent, and the sender's part becomes what the others decode. So a sent part must
// be new, or be made of parts that were sent or came as wholes.
//
// A message is read in place. A rank must not overwrite a sent part of its made row until a message has arrived that
// proves that the part was read.
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
    send,    // send a part of a row to a peer
    add,     // add the peer's message of that round to the made row
    replace, // replace that part of the made row by the message
    done,    // the made row is the sum of all start rows
  } act = Act::done;
  std::uint32_t peer = 0; // send: the receiver; add and replace: the sender. The rank itself: its start row, at once
  std::int64_t first = 0, count = 0;
  std::uint32_t round = 0; // separates messages between the same two peers
  bool made = false;       // send: from the made row; else from the start row
};

// One rank's state in the exchanges of a slice, one after another.
class DLHOST_API Exchange {
 public:
  virtual ~Exchange();
  // An exchange starts: appends the first steps.
  virtual void begin(std::vector<SyncStep>& out) = 0;
  // A peer's message was added or has replaced a part, as requested: appends the next steps.
  virtual void arrived(std::uint32_t peer, std::uint32_t round, std::vector<SyncStep>& out) = 0;
};

class DLHOST_API Sync : public Plugin {
 public:
  static constexpr Kind kind = Kind::sync;
  struct Traits {
    enum class Of : std::uint8_t {
      learned,       // the differences since the last exchange
      gradients,     // of each version, before it is made: all make the same version from their sum
      contributions, // all workers' contributions: all make the same versions, and nothing else is exchanged
    } of = Of::learned;
    // For Of::learned:
    bool averages = true;    // the common value moves by the mean of all differences; else by the sum
    std::uint32_t every = 1; // updates of a slice between two exchanges
  };
  // The participants, as seen by one of them.
  struct Ranks {
    std::uint32_t rank = 0, count = 1;
    std::span<const std::uint32_t> hosts; // of each rank, ascending: ranks of one host reach each other through memory
  };
  virtual Traits traits() const = 0;
  virtual std::unique_ptr<Exchange> join(const Ranks&, std::int64_t elements) const;
  // Gossip instead of exchanges: the neighbours of a rank, in a connected graph without cycles. Each rank sends its
  // neighbours the differences that they lack, its own and those from others, whenever they are due and the last
  // message was read. No rank waits; the value moves by every message. Default: empty for two ranks, which means
  // exchanges.
  virtual std::vector<std::uint32_t> neighbours(std::uint32_t rank, std::uint32_t count) const;
  // How the common value moves: a rule whose gradient is the mean or sum of all differences, and whose history all
  // ranks keep alike. Its rate is 1. Null: the value moves by exactly that.
  virtual const Updater* outer() const;
};

} // namespace dlhost
