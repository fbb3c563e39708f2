#include "run/worker/hang_watch.h"

#include <algorithm>
#include <atomic>

#include "plugin/faults.h"
#include "run/worker/silence.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds shortest_hang = 60 * one_second;
constexpr Nanoseconds steps_in_hang = 100;
constexpr Nanoseconds steps_in_hang_when_asked = 10;

std::atomic<int> watches{0}; // that are there: a run's leader outlives its other workers

} // namespace

HangWatch::HangWatch(double seconds) : chosen_by_steps_(seconds == 0) {
  if (seconds < longest_seconds)
    limit_ = chosen_by_steps_ ? before_the_first_step : static_cast<Nanoseconds>(seconds * 1e9);
  if (watches.fetch_add(1) == 0) watch();
}

HangWatch::~HangWatch() {
  if (watches.fetch_sub(1) == 1) plugin::watch_progress(plugin::call_limit, plugin::call_limit_when_asked);
}

void HangWatch::watch() const {
  plugin::watch_progress(limit_, std::max(plugin::call_limit_when_asked, steps_in_hang_when_asked * longest_step_));
}

void HangWatch::step_done(Nanoseconds took) {
  const bool longer = took > longest_step_;
  longest_step_ = std::max(longest_step_, took);
  const Nanoseconds wanted = std::max(shortest_hang, steps_in_hang * longest_step_);
  if (chosen_by_steps_ && (limit_ == before_the_first_step || wanted > limit_))
    limit_ = wanted;
  else if (!longer)
    return;
  watch();
}

} // namespace dlhost::run
