// While a command waits for something outside of this process: says every few seconds what for, and ends the process at
// Ctrl-C or SIGTERM, since there is nothing to save yet.
// Thread: made and destroyed by the one that waits; works on a task of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <dlhost/host.h>

namespace dlhost::cli {

class Waiting {
 public:
  // `what`: "waits for the other processes of the run at 10.0.0.1:4242".
  Waiting(Host&, std::string what);
  ~Waiting();

 private:
  void watch();

  Host& host_;
  const std::string what_;
  std::atomic<bool> over_{false};
  std::unique_ptr<Waiter> woken_;
  std::unique_ptr<Task> task_;
};

} // namespace dlhost::cli
