// Where others call: a socket that listens on one address, and those who have called and not yet shown that they know
// the job's secret. These are few at a time, and are given little time.
#pragma once

#include <vector>

#include "link.h"

namespace dlhost::plugins::meeting {

class Door {
 public:
  // Port 0: one that is free.
  static Result<Door> open(const Where&);

  std::uint16_t port() const { return port_; }
  int socket() const { return socket_.get(); }
  // Those that have shown it since the last time; strangers are counted, and the last one's offence told.
  std::vector<std::unique_ptr<Link>> turn(Host&, const Terms&);
  // Sockets that are new, to be watched.
  std::vector<int> take_new() { return std::exchange(new_, {}); }
  bool has_callers() const { return !callers_.empty(); }
  // Of those who have not shown it yet.
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
