// The schedule of one worker that leads: the rate of each step.
#pragma once

#include <memory>

#include "run/input/feeds.h"
#include "run/session/session.h"

namespace dlhost::run {

class Rates {
 public:
  static Result<Rates> make(Session&, const Feeds&);

  // Of the next step, when so many are done.
  Result<double> at(std::uint64_t step) const;
  std::uint64_t total_steps() const { return total_steps_; } // 0: not known

 private:
  Rates(Session& session, const Feeds& feeds) : session_(&session), feeds_(&feeds) {}

  Session* session_;
  const Feeds* feeds_;
  std::unique_ptr<Schedule> schedule_;
  const plugin::Actor* actor_ = nullptr;
  std::uint64_t total_steps_ = 0;
};

} // namespace dlhost::run
