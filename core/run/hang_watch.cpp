#include "run/hang_watch.h"

#include <algorithm>
#include <atomic>

#include "plugin/faults.h"
#include "run/patience.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds shortest_hang = 60 * one_second;
constexpr Nanoseconds steps_in_hang = 100;

std::atomic<int> watches{0}; // that are there: a run's leader outlives its other workers

} // namespace

HangWatch::HangWatch(double seconds) : chosen_by_steps_(seconds == 0) {
  if (seconds < longest_seconds)
    limit_ = chosen_by_steps_ ? before_the_first_step : static_cast<Nanoseconds>(seconds * 1e9);
  if (watches.fetch_add(1) == 0) plugin::watch_progress(limit_);
}

HangWatch::~HangWatch() {
  if (watches.fetch_sub(1) == 1) plugin::watch_progress(0);
}

void HangWatch::step_done(Nanoseconds took) {
  if (!chosen_by_steps_) return;
  const Nanoseconds wanted = std::max(shortest_hang, steps_in_hang * took);
  if (limit_ != before_the_first_step && wanted <= limit_) return;
  limit_ = wanted;
  plugin::watch_progress(limit_);
}

} // namespace dlhost::run
