// Short texts between the two sides of a measurement, over a pipe or a connection, outside of the measured transport.
#pragma once

#include <string>

namespace dlhost::bench {

class Channel {
 public:
  Channel(int from, int to) : from_(from), to_(to) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  // Errors: throw if the other side is gone, or silent for a minute.
  void say(const std::string& text);
  std::string hear();
  // This side's address of a connection, as numbers.
  std::string own_address() const;

 private:
  int from_, to_; // equal for a connection
};

// The place where the other host calls: an address and a port.
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
  // The next caller; throws after `seconds` without one.
  Channel accept(int seconds);

 private:
  int socket_;
};
// Retries for some seconds: the other side may be starting.
Channel call(const Place&);

} // namespace dlhost::bench
