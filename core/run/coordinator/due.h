// Decides when something is due that a job asks for at a cadence: an evaluation, a checkpoint, a recovery point.
#pragma once

#include "config/job.h"
#include "run/session/progress.h"

namespace dlhost::run {

// The position at which it was done last.
struct LastTime {
  std::uint64_t step = 0;
  double epoch = 0, seconds = 0;

  static LastTime at(const Progress& progress) { return {progress.step, progress.epoch, progress.seconds}; }
};

// If it is due, its last position becomes the present one.
inline bool is_due(const config::Cadence& every, const Progress& now, LastTime& last) {
  const bool by_step = every.steps > 0 && now.step >= last.step + static_cast<std::uint64_t>(every.steps);
  const bool by_epoch = every.epochs > 0 && now.epoch + 1e-9 >= last.epoch + every.epochs;
  const bool by_time = every.seconds > 0 && now.seconds >= last.seconds + every.seconds;
  if (!by_step && !by_epoch && !by_time) return false;
  last = LastTime::at(now);
  return true;
}

} // namespace dlhost::run
