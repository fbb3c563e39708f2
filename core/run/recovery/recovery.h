// Whether a run goes on by itself after one of its processes has died: all begin once more where they last were whole
// (docs/decisions/recovery.md). What dies again and again at one place is not tried for ever.
#pragma once

#include <cstdint>

#include "config/job.h"

namespace dlhost::run {

class Recovery {
 public:
  // What there was so far; a process that takes the leader's place goes on with it.
  struct Past {
    std::uint32_t times = 0;    // that the run went on
    std::int64_t tries = 0;     // since it last came further
    std::uint64_t furthest = 0; // step
  };
  explicit Recovery(const config::Job& job) : Recovery(job, Past()) {}
  Recovery(const config::Job&, const Past&);

  bool on() const { return restarts_ > 0; }
  // How the run has ended, and how far it has come.
  bool goes_on(const Status&, std::uint64_t steps);
  const Past& past() const { return past_; }

 private:
  std::int64_t restarts_ = 0;
  Past past_;
};

} // namespace dlhost::run
