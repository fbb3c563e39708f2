#include "env/interrupt.h"

#include <cerrno>
#include <csignal>
#include <thread>

#include <unistd.h>

#include "env/heirs.h"
#include "env/process.h"

namespace dlhost::env {
namespace {

std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

// Asking again from elsewhere does no harm; a person who presses Ctrl-C again means it.
void on_signal(int number) {
  if (!asked.exchange(true) || number != SIGINT) return;
  disinherit();
  end_now(130);
}

} // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void end_with_input() {
  std::thread([] {
    char byte = 0;
    for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) got = read(STDIN_FILENO, &byte, 1);
    asked = true;
  }).detach();
}

const std::atomic<bool>& interrupted() { return asked; }

} // namespace dlhost::env
