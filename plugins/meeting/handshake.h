// The handshake of two processes of a job, before any other message. Each proves that it knows the job's secret, over
// fresh random numbers of both sides. So strangers and replayed messages are refused. Works on bytes; a Link moves
// them.
//
//   caller    hello      its number and its name
//   callee    challenge  its number, and the proof
//   caller    proof      its own
//   callee    welcome    the ticket that the caller's messages carry, sealed
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <dlhost/rendezvous.h>
#include <dlhost/status.h>

namespace dlhost::plugins::meeting {

using Secret = JobSecret;
using Key = std::array<unsigned char, 32>;

inline constexpr std::size_t longest_name = 512;

// Tells the callee whose message it is, and that it belongs to this meeting.
struct Ticket {
  std::uint32_t number = 0; // of the caller, assigned by the callee
  std::uint32_t token = 0;
};

class Handshake {
 public:
  // `protocol`: the protocol spoken afterwards, the same word on both sides. `own` and `theirs`: names of the sides,
  // such as an address as text.
  static Handshake call(std::string_view protocol, const Secret&, std::string own, std::string theirs);
  static Handshake answer(std::string_view protocol, const Secret&, std::string own);

  // Takes received bytes; adds the reply to `out`. Errors: the other side is a stranger.
  Status take(std::span<const char> bytes, std::string& out);
  // The callee's ticket for the caller. Requires: has_proof().
  void welcome(const Ticket&, std::string& out);

  // Bytes received after the handshake.
  std::string take_rest() { return std::exchange(heard_, {}); }

  std::string begin(); // the caller's first message
  bool is_silent() const { return at_ == At::hello && heard_.empty(); }
  bool has_proof() const { return at_ == At::proven || at_ == At::done; }
  bool done() const { return at_ == At::done; }
  const std::string& theirs() const { return theirs_; }
  const Ticket& ticket() const { return ticket_; }
  // A key of this meeting for one purpose, the same on both sides. Requires: done().
  Key key(std::string_view purpose) const;

 private:
  enum class At : std::uint8_t { hello, challenge, proof, proven, welcome, done };
  using Nonce = std::array<char, 32>;

  Handshake(std::string_view protocol, const Secret& secret, std::string own, std::string theirs, At at);
  // A seal of the messages so far, which needs the secret.
  std::string seal(std::string_view what, std::string_view more = {}) const;
  Status matches(std::string_view said, const std::string& seal) const;
  Result<bool> step(std::string& out); // false: incomplete message
  bool has(std::size_t bytes) const { return heard_.size() >= bytes; }
  std::string next(std::size_t bytes);

  Secret secret_;
  std::string magic_, own_, theirs_, heard_;
  Nonce ours_{}, nonce_{};
  Ticket ticket_;
  bool calls_;
  At at_;
};

} // namespace dlhost::plugins::meeting
