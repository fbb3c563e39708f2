// Whether a run goes on by itself after one of its processes has died: all begin once more where they last were whole
// (docs/decisions/recovery.md). What dies again and again at one place is not tried for ever.
#pragma once

#include <cstdint>

#include "config/job.h"

namespace dlhost::run {

class Recovery {
 public:
  explicit Recovery(const config::Job&);

  bool on() const { return restarts_ > 0; }
  // How the run has ended, and how far it has come.
  bool goes_on(const Status&, std::uint64_t steps);
  std::uint32_t times() const { return times_; } // that it went on

 private:
  std::int64_t restarts_ = 0;
  std::int64_t tries_ = 0; // since it last came further
  std::uint64_t furthest_ = 0;
  std::uint32_t times_ = 0;
};

} // namespace dlhost::run
