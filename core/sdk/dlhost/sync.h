// Syncs: how the servers that own the same slices in several server groups make their values one again, along a
// topology.
//
// What is exchanged is what each has learned since the last exchange: the difference of its value and the one that all
// had then. When an exchange is done, every rank holds the sum of all differences; core makes the common value of it.
// Or it is the gradient of each version, before that is made: then all make the same version of the sum of them. Or the
// workers' contributions themselves, which core hands to all.
//
// A sync says who sends which part to whom, and what is added to what, as a state machine that never blocks; core moves
// the bytes and does the sums. Every rank has two rows of elements: what it began with, which stays as it is, and what
// it has made so far, whose elements are undefined until they are replaced.
//
// With a codec, parts are encoded as they leave, and what a rank has sent becomes what the others read of it. So a part
// that leaves is new, or is made of parts that have left or come as wholes.
//
// A message is read where it lies, so that a rank must not write what it has sent of its made row until something has
// arrived that could not have been sent before that was read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dlhost/kind.h>
#include <dlhost/updater.h>

namespace dlhost {

// One thing for core to do. Steps are done in their order, but that what a rank began with leaves first; an add or a
// replace waits for its message, and what comes behind it does not wait for it.
struct SyncStep {
  enum class Act : std::uint8_t {
    send,    // a part of a row, to a peer
    add,     // what a peer sends in that round is added to the made row
    replace, // or takes the place of that part of it
    done,    // the made row is the sum of what all began with
  } act = Act::done;
  std::uint32_t peer = 0; // send: to whom; add and replace: whose. The rank itself: what it began with, at once
  std::int64_t first = 0, count = 0;
  std::uint32_t round = 0; // tells messages between the same two apart
  bool made = false;       // send: of the made row; else of what it began with
};

// One rank's part in the exchanges of a slice, one after another.
class DLHOST_API Exchange {
 public:
  virtual ~Exchange();
  // An exchange begins: what may be done at the start.
  virtual void begin(std::vector<SyncStep>& out) = 0;
  // A message of a peer was added, or replaced what was there, as told: what may be done now.
  virtual void arrived(std::uint32_t peer, std::uint32_t round, std::vector<SyncStep>& out) = 0;
};

class DLHOST_API Sync : public Plugin {
 public:
  static constexpr Kind kind = Kind::sync;
  struct Traits {
    enum class Of : std::uint8_t {
      learned,       // what each has learned since the last exchange
      gradients,     // of each version, before it is made: all make the same one of their sum
      contributions, // all make the same versions, too, each of all workers' contributions: nothing else is exchanged
    } of = Of::learned;
    // Of what was learned:
    bool averages = true;    // the common value moves by the mean of what all learned; else by the sum
    std::uint32_t every = 1; // updates of a slice from one exchange to the next
  };
  // Those that take part, as one of them sees it.
  struct Ranks {
    std::uint32_t rank = 0, count = 1;
    std::span<const std::uint32_t> hosts; // of each, ascending: those of one reach one another through memory
  };
  virtual Traits traits() const = 0;
  virtual std::unique_ptr<Exchange> join(const Ranks&, std::int64_t elements) const;
  // Or, instead of exchanges, gossip: whom a rank talks to, in a graph without loops that joins all. Each tells its
  // neighbours what these lack, of its own and of what its others told it, whenever it is due and the last was read;
  // nobody waits, and the value moves by all that comes. Empty, of two ranks: there are exchanges.
  virtual std::vector<std::uint32_t> neighbours(std::uint32_t rank, std::uint32_t count) const;
  // How the common value moves: a rule whose gradient is the mean, or the sum, of what all learned, and whose history
  // all ranks keep alike. Its rate is 1. Null: it moves by just that.
  virtual const Updater* outer() const;
};

} // namespace dlhost
