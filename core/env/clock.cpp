#include "env/clock.h"

#include <cerrno>
#include <ctime>

namespace dlhost::env {

namespace {
constexpr Nanoseconds second = 1'000'000'000;
}

Nanoseconds SteadyClock::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second + time.tv_nsec;
}

void SteadyClock::sleep(Nanoseconds span) {
  if (span <= 0) return;
  const Nanoseconds until = now() + span;
  const timespec time{.tv_sec = until / second, .tv_nsec = until % second};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

double SteadyClock::wall_seconds() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace dlhost::env
