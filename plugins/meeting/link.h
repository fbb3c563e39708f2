// A connection of two processes on which they meet, and by which each sees the other's end: the kernel tells of it,
// however busy either is. Once they have met it carries what they say, as bytes; what these mean is others' affair.
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

// On which a side meets others.
struct Terms {
  std::string protocol; // what is spoken afterwards; messages to people begin with it
  Secret secret{};
  std::string own;                      // name of this side
  Nanoseconds silence = 10'000'000'000; // of the other machine, that is taken for its end
};

class Link {
 public:
  static Result<std::unique_ptr<Link>> call(const Terms&, const Where& to, std::string theirs);
  static std::unique_ptr<Link> answer(Socket, const Terms&);

  int socket() const { return socket_.get(); }
  // Moves things along, both ways. Not ok: it is over, and why.
  Status turn();
  // Only what was said: nothing is heard that its owner, who has just looked, would not look at before it sleeps.
  Status send();
  bool is_silent() const { return handshake_.is_silent(); } // has said nothing yet
  bool has_proof() const { return handshake_.has_proof(); }
  bool has_met() const { return handshake_.done(); }
  const std::string& theirs() const { return handshake_.theirs(); }
  const Ticket& ticket() const { return handshake_.ticket(); }
  Key key(std::string_view purpose) const { return handshake_.key(purpose); }
  void welcome(const Ticket& ticket) {
    handshake_.welcome(ticket, out_);
    heard_ = handshake_.take_rest();
  }

  // After they have met. What was heard and not taken yet; a turn adds no more than some ten KiB.
  std::string& heard() { return heard_; }
  void say(std::string_view bytes) { out_ += bytes; }
  std::size_t unsaid() const { return out_.size(); } // that the other side does not take

 private:
  Link(Socket socket, Handshake handshake) : socket_(std::move(socket)), handshake_(std::move(handshake)) {}
  Status receive();

  Socket socket_;
  Handshake handshake_;
  std::string out_, heard_;
};

} // namespace dlhost::plugins::meeting
