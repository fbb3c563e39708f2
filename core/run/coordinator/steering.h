// Carries a request of `dlhost stop` or `dlhost kill` to a run whose leader cannot be signalled, because it or a worker
// is on another machine: two files in the run's folder, each of which is whole or absent. The leader looks for the
// request in a separate task, because it may itself be waiting for the worker to be killed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <dlhost/host.h>

namespace dlhost::run {

class Steering {
 public:
  Steering(Disk& disk, const std::string& run)
      : disk_(disk), wish_(run + "/steer.json"), answer_(run + "/steered.json") {}

  struct Wish {
    std::optional<std::uint32_t> kill = {}; // the worker to kill; empty: the run is to save and end
  };

  // The requester's side. wish() removes the last answer.
  Status wish(const Wish&);
  // The result of the request; empty: no answer yet.
  Result<std::optional<Status>> answer();
  bool is_taken() { return !disk_.exists(wish_); }
  void forget(); // if no leader is there to answer

  // The leader's side: takes a request once, then answers it. A damaged request is ignored.
  std::optional<Wish> take();
  void tell(const Status& how);

 private:
  Disk& disk_;
  const std::string wish_, answer_;
};

// The leader's side: carries out requests until it is destroyed.
class Steered {
 public:
  using Ends = std::function<Status()>;
  using Kills = std::function<Status(std::uint32_t worker)>;
  Steered(Host&, const std::string& run, Ends, Kills);
  ~Steered();

 private:
  void look();

  Steering steering_;
  const Ends ends_;
  const Kills kills_;
  std::atomic<bool> over_{false};
  std::unique_ptr<Waiter> woken_;
  std::unique_ptr<Task> task_;
};

} // namespace dlhost::run
