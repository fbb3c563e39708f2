// What `dlhost stop` and `dlhost kill` want of a run whose leader they cannot signal, because it, or a worker of it, is
// on another machine: two files in the run's folder, each of which is there as a whole or not at all. Who leads looks
// for the wish in a task of its own: it may itself be waiting for the worker that is to be killed.
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
    std::optional<std::uint32_t> kill = {}; // that worker; none: the run is to save and end
  };

  // Who wishes. What was answered before is forgotten.
  Status wish(const Wish&);
  // How it went; none: nobody has answered yet.
  Result<std::optional<Status>> answer();
  bool is_taken() { return !disk_.exists(wish_); }
  void forget(); // nobody is there to answer

  // Who leads: a wish is taken once, and then answered. What cannot be read is no wish.
  std::optional<Wish> take();
  void tell(const Status& how);

 private:
  Disk& disk_;
  const std::string wish_, answer_;
};

// Of who leads: does what is wished, until it is destroyed.
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
