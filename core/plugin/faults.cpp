#include "plugin/faults.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include <csignal>
#include <execinfo.h>
#include <unistd.h>

#include "env/process/failure_note.h"
#include "env/process/process.h"
#include "env/process/successors.h"
#include "plugin/code.h"
#include "plugin/fault_text.h"

namespace dlhost::plugin {

namespace {

struct Range {
  std::atomic<std::uintptr_t> begin{0}; // 0: free; 1: being filled
  std::atomic<std::uintptr_t> end{0};
};
std::array<Range, 256> ranges;

std::atomic<const char*> newest_checkpoint{nullptr};
std::atomic<bool> telling{false};
std::atomic<bool> installed{false};

constexpr struct {
  int number;
  const char* name;
} fault_signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"},
                     {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"}};
struct sigaction handlers_before[std::size(fault_signals)];

// Signals that a timer, a limit or another process sends. They end the process unless it handles them. Not here: what
// a person or a pipe ends a process with (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE).
constexpr int ending_signals[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1,   SIGUSR2,
                                  SIGXCPU, SIGXFSZ,   SIGPOLL, SIGSTKFLT, SIGPWR};

std::size_t index_of(int number) {
  for (std::size_t i = 0; i < std::size(fault_signals); ++i)
    if (fault_signals[i].number == number) return i;
  return 0;
}

bool is_far(std::uintptr_t address) {
  return std::ranges::any_of(ranges, [&](const Range& range) {
    return range.begin.load() > 1 && address >= range.begin.load() && address < range.end.load();
  });
}

// The first thread to crash reports; others that crash meanwhile wait for the end. After a plugin's fault, a standby
// must not take over: it would crash as well.
enum class Heirs { none, kept };
void claim_telling(Heirs heirs = Heirs::none) {
  if (telling.exchange(true))
    for (;;) pause();
  if (heirs == Heirs::none) env::disinherit();
}

// Writes the line to standard error and into the run's summary. If no call was noted, the code at `place` tells the
// plugin.
void write_first_line(const Doing& doing, std::string_view what_happened, const void* place) {
  FaultLine line;
  const Code* const code = doing.actor ? nullptr : code_at(place);
  if (doing.actor) {
    put_plugin(line, *doing.actor);
    line << " " << what_happened << " in ";
    put_place(line, *doing.actor, doing.phase, doing.step);
  } else if (code) {
    put_plugin(line, *code->plugin);
    line << " " << what_happened
         << " outside every call, in a thread that it or a library of its own has started, or as the process ended: at "
         << code->file << "+";
    line.hex(reinterpret_cast<std::uintptr_t>(place) - code->begin);
  } else {
    line << "this process " << what_happened << " outside every call of a plugin";
  }
  line.write();
  env::write_failure_note(line.text());
}

void write_address(int number, const siginfo_t& info) {
  if (number != SIGSEGV && number != SIGBUS) return;
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  FaultLine line;
  line << "it touched the address ";
  line.hex(address);
  if (is_far(address))
    line << ", memory of a device, which the host cannot reach: use the device's ops, or its copy";
  else if (number == SIGBUS)
    line << ": its memory is gone, mostly a file that shrank or a full /dev/shm (df -h /dev/shm)";
  else if (address < 65536)
    line << ", which is a null pointer";
  line.write();
}

void write_remedy(const Doing& doing, const void* place) {
  FaultLine line;
  if ((doing.actor && *doing.actor->path) || (!doing.actor && code_at(place)))
    line << "to find the place, build that plugin with -g -fsanitize=address,undefined and run it in a dlhost built so "
            "(./dev sanitize), or run this under gdb; without the plugin the job may go on";
  else
    line << "please report this, with the lines below, as a fault of dlhost";
  line.write();
}

// The stack of the crash. If the unwinder waits for a lock that the crashed code holds, SIGALRM ends the process, after
// the first line without a stack.
class Frames {
 public:
  Frames() {
    std::signal(SIGALRM, [](int) {
      if (!told) write_first_line({}, "crashed", nullptr);
      env::end_now(fault_exit_code);
    });
    alarm(5);
    count_ = backtrace(frames_.data(), static_cast<int>(frames_.size()));
    alarm(0);
  }
  // The innermost address in a plugin's code; null: none.
  const void* of_plugin() const { return first_of_plugins({frames_.data(), static_cast<std::size_t>(count_)}); }
  void write() const {
    alarm(5);
    backtrace_symbols_fd(frames_.data(), count_, STDERR_FILENO);
    alarm(0);
  }
  static inline std::atomic<bool> told{false};

 private:
  std::array<void*, 48> frames_{};
  int count_ = 0;
};

// Whether this is a child process that a plugin forked. Its end is no end of the run, and its parent may wait for the
// signal: it gets the default action.
bool ends_child(int number) {
  if (!detail::is_forked_child) return false;
  std::signal(number, SIG_DFL);
  raise(number);
  return true;
}

void on_fault(int number, siginfo_t* info, void*) {
  if (ends_child(number)) return;
  claim_telling();
  const int thread = gettid();
  const Doing doing = doing_of_thread(thread);
  FaultLine what;
  what << "crashed with " << fault_signals[index_of(number)].name;
  if (doing.actor) {
    Frames::told = true; // before the unwinder may hang
    write_first_line(doing, what.text(), nullptr);
  }
  const Frames frames;
  const void* const place = frames.of_plugin();
  if (!Frames::told.exchange(true)) write_first_line(doing, what.text(), place);
  write_address(number, *info);
  write_others(thread);
  write_remedy(doing, place);
  write_checkpoint(checkpoint_to_tell());
  frames.write();
  // The previous handler or the system does the rest: the faulting instruction runs again; a signal that was sent, or
  // after which the code would go on, is raised again.
  sigaction(number, &handlers_before[index_of(number)], nullptr);
  if (info->si_code <= 0 || number == SIGTRAP || number == SIGSYS) raise(number);
}

void put_signal(FaultLine& line, int number) {
  if (const char* const name = sigabbrev_np(number))
    line << "SIG" << name;
  else
    line << "signal " << static_cast<std::uint64_t>(number);
}

// Any call of a plugin in progress: the signal may have come on a thread of dlhost's own.
Doing any_doing() {
  for (const auto& slot : detail::activity_slots)
    if (const Doing doing = read_slot(slot); doing.actor && *doing.actor->path) return doing;
  return {};
}

// Signals from another process are no plugin's fault, and a standby may take over, as after SIGKILL.
void write_foreign_signal(int number, const siginfo_t& info) {
  FaultLine line;
  line << "this process was ended by ";
  put_signal(line, number);
  line << " from process " << static_cast<std::uint64_t>(info.si_pid) << " of the user "
       << static_cast<std::uint64_t>(info.si_uid);
  line.write();
  env::write_failure_note(line.text());
}

void write_own_signal(int number) {
  const int thread = gettid();
  Doing doing = doing_of_thread(thread);
  if (!doing.actor) doing = any_doing();
  FaultLine what;
  what << "received ";
  put_signal(what, number);
  what << ", which ends the process,";
  write_first_line(doing, what.text(), nullptr);
  FaultLine remedy;
  remedy << "no other process sent it: look for a limit of the process (ulimit -a), and for calls of alarm, setitimer, "
            "timer_create, raise or kill in that plugin and in the others";
  put_loaded(remedy);
  remedy.write();
}

void on_ending_signal(int number, siginfo_t* info, void*) {
  if (ends_child(number)) return;
  const bool sent = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
  const bool foreign = sent && info->si_pid != getpid();
  claim_telling(foreign ? Heirs::kept : Heirs::none);
  if (foreign)
    write_foreign_signal(number, *info);
  else
    write_own_signal(number);
  write_checkpoint(checkpoint_to_tell());
  std::signal(number, SIG_DFL);
  raise(number);
}

void write_exception() {
  const auto exception = std::current_exception();
  if (!exception) return;
  FaultLine line;
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    line << "the exception says: " << e.what();
  } catch (...) {
    line << "the exception is not a std::exception";
  }
  line.write();
}

[[noreturn]] void on_terminate() {
  if (detail::is_forked_child) std::abort();
  claim_telling();
  const int thread = gettid();
  const Doing doing = doing_of_thread(thread);
  const void* const place = doing.actor ? nullptr : Frames().of_plugin();
  Frames::told = true;
  write_first_line(doing, "ended the program by an uncaught exception", place);
  write_exception();
  write_others(thread);
  write_remedy(doing, place);
  write_checkpoint(checkpoint_to_tell());
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

void handle(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

void handle_unless_handled(int number) {
  struct sigaction present {};
  if (sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_DFL) handle(number, on_ending_signal);
}

} // namespace

void install_fault_handlers() {
  if (installed.exchange(true)) return;
  void* frame = nullptr;
  backtrace(&frame, 1); // loads the unwinder now: a handler must not
  for (std::size_t i = 0; i < std::size(fault_signals); ++i) {
    const int number = fault_signals[i].number;
    sigaction(number, nullptr, &handlers_before[i]);
    const bool may_go_on = number == SIGTRAP || number == SIGSYS; // after the handler of a sandbox, for example
    if (!may_go_on || handlers_before[i].sa_handler == SIG_DFL) handle(number, on_fault);
  }
  for (const int number : ending_signals) handle_unless_handled(number);
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) handle_unless_handled(number);
  std::set_terminate(on_terminate);
}

// A handler that the process has installed itself stays: it is called in any case.
void expect_abort() noexcept {
  struct sigaction present {};
  if (!installed || telling || sigaction(SIGABRT, nullptr, &present) != 0) return;
  if (present.sa_handler == SIG_IGN || present.sa_handler == SIG_DFL) handle(SIGABRT, on_fault);
}

void end_by_fault(std::string_view what, const Doing& doing, const void* place, std::string_view remedy,
                  int status) noexcept {
  claim_telling();
  write_first_line(doing, what, place);
  write_others(gettid());
  FaultLine line;
  line << remedy;
  line.write();
  write_checkpoint(checkpoint_to_tell());
  env::end_now(status);
}

void tell_checkpoint(const char* path) noexcept { newest_checkpoint.store(path); }
const char* checkpoint_to_tell() noexcept { return newest_checkpoint.load(); }

FarMemory::FarMemory(const void* begin, std::size_t bytes) noexcept : begin_(begin) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  for (auto& range : ranges) {
    std::uintptr_t free = 0;
    if (!range.begin.compare_exchange_strong(free, 1)) continue;
    range.end.store(address + bytes);
    range.begin.store(address);
    return;
  }
}

FarMemory::~FarMemory() {
  if (!begin_) return;
  for (auto& range : ranges)
    if (auto address = reinterpret_cast<std::uintptr_t>(begin_); range.begin.compare_exchange_strong(address, 0))
      return;
}

} // namespace dlhost::plugin
