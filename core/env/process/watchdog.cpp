#include "env/process/watchdog.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dlhost::env {
namespace {

constexpr Nanoseconds one_second = 1'000'000'000;
constexpr int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM};

std::atomic<int> watched_process{0}; // that has the thread
std::atomic<std::uint32_t> woken{0};

Nanoseconds steady_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * one_second + time.tv_nsec;
}

void sleep_unless_woken(std::uint32_t before, Nanoseconds limit) {
  const timespec time{limit / one_second, limit % one_second};
  ::syscall(SYS_futex, &woken, FUTEX_WAIT_PRIVATE, before, &time, nullptr, 0);
}

void* watch(void* look) {
  pthread_setname_np(pthread_self(), "watchdog");
  while (true) {
    const std::uint32_t before = woken.load();
    sleep_unless_woken(before, reinterpret_cast<Look>(look)(steady_now()));
  }
}

} // namespace

void start_watchdog(Look look) noexcept {
  const int process = ::getpid();
  if (watched_process.exchange(process) == process) return;
  sigset_t own, before;
  sigfillset(&own);
  for (const int number : taken) sigdelset(&own, number);
  pthread_sigmask(SIG_SETMASK, &own, &before); // which the thread inherits
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, watch, reinterpret_cast<void*>(look)) == 0)
    pthread_detach(thread);
  else
    watched_process = 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void wake_watchdog() noexcept {
  woken.fetch_add(1);
  ::syscall(SYS_futex, &woken, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace dlhost::env
