// What the two sides of a measurement tell each other beside it: short texts, over a pipe or a connection.
#pragma once

#include <string>

namespace dlhost::bench {

class Channel {
 public:
  Channel(int from, int to) : from_(from), to_(to) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  // Throw where the other side is gone, or says nothing for a minute.
  void say(const std::string& text);
  std::string hear();
  // Of a connection: this side's address, as numbers.
  std::string own_address() const;

 private:
  int from_, to_; // the same for a connection
};

// Where the other side of another host calls: an address, and a port.
struct Place {
  std::string host;
  std::string port;
};
// "10.0.0.1", "10.0.0.1:4000" or "[fd00::1]:4000".
Place place_of(const std::string& text);

class Listener {
 public:
  explicit Listener(const Place&);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  // The next that calls; throws when none has for `seconds`.
  Channel accept(int seconds);

 private:
  int socket_;
};
// Tries for some seconds: the other side may be starting.
Channel call(const Place&);

} // namespace dlhost::bench
