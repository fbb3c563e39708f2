#include "env/process/interrupt.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <unistd.h>

#include "env/process/process.h"
#include "env/process/successors.h"

namespace dlhost::env {
namespace {

constexpr int end_of_input = -1;

std::atomic<bool> asked{false};
std::atomic<int> interrupted_by_what{0};       // a signal, or the end of input
std::atomic<int> interrupted_by_whom{-1};      // a user; -1: the terminal
std::atomic<const char*> said_to_whom_pressed; // Ctrl-C
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<const char*>::is_always_lock_free,
              "a signal handler sets them");

// Asking again from elsewhere does no harm; a person who presses Ctrl-C again means it.
void on_signal(int number, siginfo_t* from, void*) {
  if (!asked.exchange(true)) {
    interrupted_by_what = number;
    const bool pressed = from->si_code == SI_KERNEL;
    if (!pressed) interrupted_by_whom = static_cast<int>(from->si_uid);
    const char* words = said_to_whom_pressed;
    if (pressed && number == SIGINT && isatty(STDERR_FILENO) == 1)
      if (write(STDERR_FILENO, words, std::strlen(words)) < 0) return;
    return;
  }
  if (number != SIGINT) return;
  disinherit();
  end_now(130);
}

} // namespace

void catch_interrupts(const char* words) {
  said_to_whom_pressed = words;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr); // nohup: it is to outlive its terminal
}

void end_with_input() {
  std::thread([] {
    char byte = 0;
    for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) got = read(STDIN_FILENO, &byte, 1);
    if (!asked.exchange(true)) interrupted_by_what = end_of_input;
  }).detach();
}

const std::atomic<bool>& interrupted() { return asked; }

std::string interrupted_by() {
  if (!asked) return {};
  const int what = interrupted_by_what, whom = interrupted_by_whom;
  if (what == end_of_input) return "by the end of its standard input, which its launcher holds";
  if (whom < 0) return what == SIGHUP ? "by its terminal, which was closed" : "by Ctrl-C";
  return std::string("by SIG") + sigabbrev_np(what) + " from " + user_named(static_cast<std::uint32_t>(whom)) +
         (what == SIGTERM ? " (dlhost stop, or kill)" : "");
}

} // namespace dlhost::env
