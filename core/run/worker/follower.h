// A worker that does not lead the run: the loop of its task or process. It computes its rows, step by step;
// evaluations, checkpoints and words to people are the leader's.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "run/input/feeds.h"
#include "run/membership/address_book.h"
#include "run/session/session.h"
#include "run/worker/seat.h"
#include "run/worker/step_watch.h"

namespace dlhost::run {

class Follower {
 public:
  // `turn`: among the workers of its machine.
  using Open = std::function<Result<std::unique_ptr<Session>>(std::uint32_t turn)>;
  // `open` is called on its task.
  Follower(Open open, AddressBook& address_book, std::uint32_t number)
      : open_(std::move(open)), address_book_(address_book), number_(number) {}

  ~Follower();
  // Until it is over. Not ok: why it could not go on; the others have heard it.
  Status run();
  // The run's leader is gone, and this one is to take its place: what outlives the others is written into the run's
  // folder. `end`: of those that do not come to an end by themselves.
  Status salvage(const std::string& run, const std::function<void(std::uint32_t seat)>& end);

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
  std::unique_ptr<Seat> seat_;
  program::Program* program_ = nullptr;
  std::unique_ptr<Feeds> feeds_;
  std::optional<StepWatch> watch_;
  std::uint64_t next_ = 0; // step, that the feeds are at
};

} // namespace dlhost::run
