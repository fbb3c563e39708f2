// A watch on all keys of a job in etcd: what changes, in its order, from a revision on. It is asked for anew after a
// while, and at another endpoint when it breaks: one that hangs, or is cut off, would say nothing.
#pragma once

#include <functional>

#include "gateway.h"

namespace dlhost::plugins::rendezvous {

class Watch {
 public:
  Watch(Host& host, Gateway& gateway, std::string prefix, Nanoseconds renewed);
  ~Watch();

  // Gives each answer until end(). `next`: the revision from which on, asked before each new beginning.
  void run(const std::function<std::int64_t()>& next, const std::function<void(const Json&)>& take);
  void end();

 private:
  struct Stream {
    std::string line;
    const std::function<void(const Json&)>* take = nullptr;
    bool over = false, heard = false;
  };
  static std::size_t read(char* bytes, std::size_t size, std::size_t count, void* stream);
  bool once(std::size_t at, std::int64_t from, const std::function<void(const Json&)>& take); // false: it broke

  Host& host_;
  Gateway& gateway_;
  const std::string prefix_;
  const Nanoseconds renewed_;
  CURLM* multi_;
  std::atomic<bool> ends_{false};
};

} // namespace dlhost::plugins::rendezvous
