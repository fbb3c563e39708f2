// A socket that listens on one address, and its callers that have not yet proved that they know the job's secret. Their
// number and their time are limited.
#pragma once

#include <vector>

#include "link.h"

namespace dlhost::plugins::meeting {

class Door {
 public:
  // Port 0: any free port.
  static Result<Door> open(const Where&);

  std::uint16_t port() const { return port_; }
  int socket() const { return socket_.get(); }
  // Returns the callers that have proved it since the last call. Strangers are counted, and the last one's error
  // logged.
  std::vector<std::unique_ptr<Link>> turn(Host&, const Terms&);
  // New sockets, to be polled.
  std::vector<int> take_new() { return std::exchange(new_, {}); }
  bool has_callers() const { return !callers_.empty(); }
  // Sockets of callers without proof.
  std::vector<int> sockets() const {
    std::vector<int> all;
    for (const Caller& caller : callers_) all.push_back(caller.link->socket());
    return all;
  }
  std::uint64_t strangers() const { return strangers_; }

 private:
  struct Caller {
    std::unique_ptr<Link> link;
    std::string from;
    Nanoseconds until = 0;
  };
  void turn_away(Host&, const Terms&, const std::string& from, const Status& why);

  Socket socket_;
  std::uint16_t port_ = 0;
  std::vector<Caller> callers_;
  std::vector<int> new_;
  std::uint64_t strangers_ = 0;
  Nanoseconds told_ = 0;
};

} // namespace dlhost::plugins::meeting
