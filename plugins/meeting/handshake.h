// How two processes of a job meet, before anything else is heard: each proves that it knows the job's secret, over
// numbers that both have drawn for this once, so that neither a stranger nor what was overheard gets in. Bytes in,
// bytes out; who moves them is a link's affair.
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

// By which the callee knows whose a message is, and that it is of this meeting.
struct Ticket {
  std::uint32_t number = 0; // of the caller, at the callee
  std::uint32_t token = 0;
};

class Handshake {
 public:
  // `protocol`: what is spoken afterwards, a word that both have to say. `own` and `theirs` are names that each side
  // has, such as its address as text.
  static Handshake call(std::string_view protocol, const Secret&, std::string own, std::string theirs);
  static Handshake answer(std::string_view protocol, const Secret&, std::string own);

  // What came; what is to go is added to `out`. Not ok: it is a stranger.
  Status take(std::span<const char> bytes, std::string& out);
  // Of the callee, once it has_proof(): what it gives the caller.
  void welcome(const Ticket&, std::string& out);

  // What was said after it, in the same breath.
  std::string take_rest() { return std::exchange(heard_, {}); }

  std::string begin(); // what the caller says first
  bool is_silent() const { return at_ == At::hello && heard_.empty(); }
  bool has_proof() const { return at_ == At::proven || at_ == At::done; }
  bool done() const { return at_ == At::done; }
  const std::string& theirs() const { return theirs_; }
  const Ticket& ticket() const { return ticket_; }
  // Of this meeting alone, for one purpose: both sides have the same, once they have met.
  Key key(std::string_view purpose) const;

 private:
  enum class At : std::uint8_t { hello, challenge, proof, proven, welcome, done };
  using Nonce = std::array<char, 32>;

  Handshake(std::string_view protocol, const Secret& secret, std::string own, std::string theirs, At at);
  // Of what both have said so far: only who knows the secret can tell.
  std::string seal(std::string_view what, std::string_view more = {}) const;
  Status matches(std::string_view said, const std::string& seal) const;
  Result<bool> step(std::string& out); // false: there is less than the next message
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
