// Syncs: exchange between neighbouring server groups, or between workers that have no servers, along a topology.
//
// A sync is a state machine: it is started on a piece, is told what arrives, and says what to send; core moves the
// bytes and reduces them on the device. It never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <dlhost/kind.h>
#include <dlhost/message.h>

namespace dlhost {

// One thing for core to do. Ranges are elements of the exchanged piece.
struct SyncStep {
  enum class Act : std::uint8_t { send, add, replace, done } act = Act::done;
  std::uint32_t peer = 0; // to whom; for add and replace: from whom
  std::int64_t first = 0, count = 0;
  std::uint32_t round = 0;
  float factor = 1; // on what is sent
};

// One exchange in flight.
class DLHOST_API Exchange {
 public:
  virtual ~Exchange();
  // What may be done at the start.
  virtual void begin(std::vector<SyncStep>& out) = 0;
  // A peer's message of `round` has arrived and was applied as told: what may be done now.
  virtual void arrived(std::uint32_t peer, std::uint32_t round, std::vector<SyncStep>& out) = 0;
  virtual void gone(std::uint32_t peer, std::vector<SyncStep>& out) = 0;
};

class DLHOST_API Sync : public Plugin {
 public:
  static constexpr Kind kind = Kind::sync;
  struct Traits {
    bool averages = false; // replicas end as their mean; else as the sum of all contributions
    bool exact = true;     // all replicas are equal after an exchange
    bool tolerates_loss = false;
    std::uint32_t every = 1; // updates between exchanges
  };
  virtual Traits traits() const = 0;
  virtual std::unique_ptr<Exchange> start(std::uint32_t rank, std::uint32_t count, std::int64_t elements) = 0;
};

} // namespace dlhost
