// A connection of two processes. They shake hands on it, and each detects the other's end: the kernel reports it
// however busy either process is. After the handshake it carries bytes of any protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <dlhost/host.h>

#include "handshake.h"
#include "where.h"

namespace dlhost::plugins::meeting {

class Socket {
 public:
  explicit Socket(int number = -1) : number_(number) {}
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Socket();
  int get() const { return number_; }

 private:
  int number_;
};

// The terms of a side for its links.
struct Terms {
  std::string protocol; // spoken afterwards; log messages begin with it
  Secret secret{};
  std::string own;                      // name of this side
  Nanoseconds silence = 10'000'000'000; // after which the other machine counts as gone
};

class Link {
 public:
  static Result<std::unique_ptr<Link>> call(const Terms&, const Where& to, std::string theirs);
  static std::unique_ptr<Link> answer(Socket, const Terms&);

  int socket() const { return socket_.get(); }
  // Receives and sends. Errors: why the link is over.
  Status turn();
  // Sends only: bytes received here would wait, since the owner has just read and may sleep next.
  Status send();
  bool is_silent() const { return handshake_.is_silent(); } // no byte received yet
  bool has_proof() const { return handshake_.has_proof(); }
  bool has_met() const { return handshake_.done(); }
  const std::string& theirs() const { return handshake_.theirs(); }
  const Ticket& ticket() const { return handshake_.ticket(); }
  Key key(std::string_view purpose) const { return handshake_.key(purpose); }
  void welcome(const Ticket& ticket) {
    handshake_.welcome(ticket, out_);
    heard_ = handshake_.take_rest();
  }

  // Requires: has_met(). Bytes received and not taken yet; a turn adds little more than 64 KiB.
  std::string& heard() { return heard_; }
  void say(std::string_view bytes) { out_ += bytes; }
  std::size_t unsaid() const { return out_.size(); } // bytes that the other side has not accepted

 private:
  Link(Socket socket, Handshake handshake) : socket_(std::move(socket)), handshake_(std::move(handshake)) {}
  Status receive();

  Socket socket_;
  Handshake handshake_;
  std::string out_, heard_;
};

} // namespace dlhost::plugins::meeting
