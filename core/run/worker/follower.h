// The loop of a worker that does not lead the run, in its task or process. It computes its rows, step by step. The
// leader does the evaluations, checkpoints and messages to people.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "run/input/feeds.h"
#include "run/membership/address_book.h"
#include "run/session/session.h"
#include "run/worker/step_watch.h"
#include "run/worker/worker.h"

namespace dlhost::run {

class Follower {
 public:
  // `turn`: the worker's number on its machine.
  using Open = std::function<Result<std::unique_ptr<Session>>(std::uint32_t turn)>;
  // `open` is called on the follower's task.
  Follower(Open open, AddressBook& address_book, std::uint32_t number)
      : open_(std::move(open)), address_book_(address_book), number_(number) {}

  ~Follower();
  // Runs until the run is over. Errors: why the worker could not go on; the others have been told.
  Status run();
  // Writes the state that outlives the other workers into the run's folder. Called if the leader is gone and this
  // worker takes its place. `end`: ends a worker that does not end by itself.
  Status salvage(const std::string& run, const std::function<void(std::uint32_t worker)>& end);
  // All have begun together: none waits in the address book for this worker.
  bool has_begun() const { return has_begun_; }

 private:
  bool is_to_die(const Status&);
  Status prepare();
  Status steps();
  Status follow_steps();
  Status lead_steps();
  Status step(std::uint64_t step, double rate);

  const Open open_;
  AddressBook& address_book_;
  const std::uint32_t number_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Worker> worker_;
  program::Program* program_ = nullptr;
  std::unique_ptr<Feeds> feeds_;
  std::optional<StepWatch> watch_;
  std::uint64_t next_ = 0; // the next step of the feeds
  bool has_begun_ = false;
};

} // namespace dlhost::run
