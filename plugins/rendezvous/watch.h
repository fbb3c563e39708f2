// A watch on all keys of a job in etcd: changes in order, from a revision on. It is renewed after a while, and at
// another endpoint when it breaks: an endpoint that hangs or is cut off would be silent.
#pragma once

#include <functional>

#include "gateway.h"

namespace dlhost::plugins::rendezvous {

class Watch {
 public:
  Watch(Host& host, Gateway& gateway, std::string prefix, Nanoseconds renewed);
  ~Watch();

  // Passes on each answer until end(). `next`: returns the revision to start from; called at each renewal.
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
