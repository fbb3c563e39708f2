// Transports move messages and memory between processes. Examples: `shm`, `fabric`, `sim`.
//
// An endpoint belongs to one task; its progress() does all work and reports completions. Buffers given to post_send and
// post_recv belong to the transport until their completion. Messages of one pair arrive whole and in order, or the peer
// is reported gone. The capabilities say what a transport cannot do; calling it anyway returns a Status, not a silent
// substitute.
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
  PeerId peer = 0;          // the id from connect() for its address, whichever side came first
  std::uint64_t cookie = 0; // as given when posted
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
};

// Memory that peers may write or read. Requires: it outlives every operation on it.
class DLHOST_API Region {
 public:
  virtual ~Region();
  virtual std::span<std::byte> bytes() = 0;
  // The key for peers' access; opaque, at most 64 bytes.
  virtual std::string key() const = 0;
};

class DLHOST_API Endpoint {
 public:
  virtual ~Endpoint();
  virtual std::string address() const = 0;
  virtual Result<PeerId> connect(std::string_view address) = 0;
  virtual void disconnect(PeerId) = 0;

  // Errors: Code::timeout if the queue is full; call progress() and try again.
  virtual Status post_send(PeerId, std::uint64_t tag, std::span<const std::byte>, std::uint64_t cookie) = 0;
  virtual Status post_recv(std::span<std::byte>, std::uint64_t cookie) = 0;
  // Memory made by the transport: the fastest for peers, and the only memory that map() can map.
  virtual Result<std::unique_ptr<Region>> allocate(std::size_t bytes) = 0;
  // Makes existing memory accessible.
  virtual Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) = 0;
  virtual Status put(PeerId, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
                     std::uint64_t cookie) = 0;
  virtual Status get(PeerId, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
                     std::uint64_t cookie) = 0;
  // Whether a put is complete at the peer when a message arrives that was sent after it, without waiting for either.
  virtual bool puts_in_order() const;
  // Maps a peer's region into this process' address space (shared memory).
  virtual Result<std::unique_ptr<Region>> map(PeerId, std::string_view key) = 0;

  // Does pending work; writes completions and returns their number. Waits at most `limit` for the first one.
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
  // Core's data for opening an endpoint; valid during the call.
  struct Opening {
    std::string_view name;                  // the endpoint's name, for people
    std::span<const std::byte> secret = {}; // for authentication between the endpoints of a job; empty: none
  };
  // A network, device or library of this machine that the transport could run over.
  struct Way {
    std::string name, is;            // the value of the transport's option for it; and the full name
    std::vector<std::string> places; // its devices and this machine's addresses: "eth0 10.0.0.1"
    std::string can;                 // its abilities, for people
    bool usable = false, chosen = false;
    std::string why;             // why it is chosen, not chosen, or unusable
    double latency = 0;          // seconds, one way, of 64 bytes; 0: not measured
    double bytes_per_second = 0; // with messages of one MiB
  };
  virtual Capabilities capabilities() const = 0;
  virtual Result<std::unique_ptr<Endpoint>> open(Host&, const Opening&) = 0;
  // The ways of this machine, with measurements of usable ones, for `dlhost inspect NAME`. Takes at most a second for
  // each. Empty: no choice.
  virtual Result<std::vector<Way>> ways(Host&);
};

} // namespace dlhost
