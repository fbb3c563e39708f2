// A connection of two endpoints beside the wire, on which they meet and by which each sees the other's end: the kernel
// tells of it, however busy either is. Who called sends messages over the wire; at its own end it says how many.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <dlhost/host.h>

#include "address.h"
#include "handshake.h"

namespace dlhost::plugins::fabric {

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

class Link {
 public:
  // `silence`: how long the other machine may say nothing before it is taken for gone.
  static Result<std::unique_ptr<Link>> call(const Secret&, const std::string& own, const Address& to,
                                            Nanoseconds silence);
  static std::unique_ptr<Link> answer(Socket, const Secret&, const std::string& own, Nanoseconds silence);

  int socket() const { return socket_.get(); }
  // Moves things along. Not ok: it is over, and why.
  Status turn();
  bool is_silent() const { return handshake_.is_silent(); } // has said nothing yet
  bool has_proof() const { return handshake_.has_proof(); }
  bool has_met() const { return handshake_.done(); }
  const std::string& theirs() const { return handshake_.theirs(); }
  const Ticket& ticket() const { return handshake_.ticket(); }
  void welcome(const Ticket& ticket) { handshake_.welcome(ticket, out_); }

  // The caller's last word: so many messages, all of them.
  void say_goodbye(std::uint64_t messages);
  const std::optional<std::uint64_t>& goodbye() const { return goodbye_; }

 private:
  Link(Socket socket, Handshake handshake) : socket_(std::move(socket)), handshake_(std::move(handshake)) {}
  Status send();
  Status receive();

  Socket socket_;
  Handshake handshake_;
  std::string out_, last_; // last_: of a goodbye, what has come of it
  std::optional<std::uint64_t> goodbye_;
};

} // namespace dlhost::plugins::fabric
