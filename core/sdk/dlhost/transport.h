// Transports: they move messages and memory between processes. `shm`, `fabric`, `sim`.
//
// An endpoint belongs to one task; progress() of it is what makes anything happen, and where completions are reported.
// Buffers given to post_send and post_recv belong to the transport until their completion. Messages of one pair arrive
// whole and in order, or the peer is reported gone. What a transport cannot do its capabilities say; calling it all the
// same is a Status, never a silent detour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

using PeerId = std::uint32_t;

struct Completion {
  enum class Kind : std::uint8_t { sent, received, put, got, gone } kind = Kind::sent;
  PeerId peer = 0;          // by the id that connect() gives for its address, whichever side came first
  std::uint64_t cookie = 0; // as given when posted
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
};

// Memory that peers may write into or read from. Outlives every operation on it.
class DLHOST_API Region {
 public:
  virtual ~Region();
  virtual std::span<std::byte> bytes() = 0;
  // What a peer needs to reach it; opaque, at most 64 bytes.
  virtual std::string key() const = 0;
};

class DLHOST_API Endpoint {
 public:
  virtual ~Endpoint();
  virtual std::string address() const = 0;
  virtual Result<PeerId> connect(std::string_view address) = 0;
  virtual void disconnect(PeerId) = 0;

  // Code::timeout when the queue is full: progress() and try again.
  virtual Status post_send(PeerId, std::uint64_t tag, std::span<const std::byte>, std::uint64_t cookie) = 0;
  virtual Status post_recv(std::span<std::byte>, std::uint64_t cookie) = 0;
  // Memory of the transport's own making: what peers reach best, and, with map(), all that they can map.
  virtual Result<std::unique_ptr<Region>> allocate(std::size_t bytes) = 0;
  // Memory that is there already.
  virtual Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) = 0;
  virtual Status put(PeerId, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
                     std::uint64_t cookie) = 0;
  virtual Status get(PeerId, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
                     std::uint64_t cookie) = 0;
  // What is put to a peer is there when a message arrives that was sent to it behind that, whoever waits for neither.
  virtual bool puts_in_order() const;
  // A peer's region in this process' own address space (shared memory).
  virtual Result<std::unique_ptr<Region>> map(PeerId, std::string_view key) = 0;

  // Moves things along; writes completions, returns how many. Waits at most `limit` for the first one.
  virtual Result<std::size_t> progress(std::span<Completion>, Nanoseconds limit) = 0;
  // Ends another task's progress() early.
  virtual void wake() = 0;
};

class DLHOST_API Transport : public Plugin {
 public:
  static constexpr Kind kind = Kind::transport;
  struct Capabilities {
    bool maps = false;      // map()
    bool one_sided = false; // put() and get()
    bool registers = false; // register_memory()
    bool across_hosts = false;
    bool reports_gone = false; // a dead peer makes a completion
    std::size_t largest_message = 0;
    std::size_t alignment = 1;
  };
  // What core says of an endpoint that it opens; it lasts as long as the call.
  struct Opening {
    std::string_view name;                  // whose it is, for people
    std::span<const std::byte> secret = {}; // by which the endpoints of a job know one another; empty: there is none
  };
  // One of the networks, devices or libraries that it could run over on this machine.
  struct Way {
    std::string name, is;            // as the transport's option for it says it; and in full
    std::vector<std::string> places; // devices and this machine's addresses there: "eth0 10.0.0.1"
    std::string can;                 // what it offers, for people
    bool usable = false, chosen = false;
    std::string why;             // it is chosen, passed over, or of no use
    double latency = 0;          // seconds, one way, of 64 bytes; 0: not measured
    double bytes_per_second = 0; // in messages of a mebibyte
  };
  virtual Capabilities capabilities() const = 0;
  virtual Result<std::unique_ptr<Endpoint>> open(Host&, const Opening&) = 0;
  // Those of this machine, measured where they are of use, for `dlhost inspect NAME`; takes a second for each at most.
  // None: there is nothing to choose.
  virtual Result<std::vector<Way>> ways(Host&);
};

} // namespace dlhost
