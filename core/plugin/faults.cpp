#include "plugin/faults.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <utility>

#include <csignal>
#include <execinfo.h>
#include <unistd.h>

#include "env/heirs.h"
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

constexpr struct {
  int number;
  const char* name;
} fault_signals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};
struct sigaction handlers_before[std::size(fault_signals)];

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

// The first to come tells; whoever else crashes meanwhile waits for the end. Nobody is to go on from here: it would
// crash there as well.
void claim_telling() {
  if (telling.exchange(true))
    for (;;) pause();
  env::disinherit();
}

void write_first_line(const Doing& doing, std::string_view what_happened, std::string_view signal = {}) {
  FaultLine line;
  if (doing.actor) {
    put_plugin(line, *doing.actor);
    line << " " << what_happened << signal << " in ";
    put_place(line, *doing.actor, doing.phase, doing.step);
  } else {
    line << "this process " << what_happened << signal << " outside every call of a plugin";
  }
  line.write();
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

void write_remedy(const Doing& doing) {
  FaultLine line;
  if (doing.actor && *doing.actor->path)
    line << "to find the place, build that plugin with -g -fsanitize=address,undefined and run it in a dlhost built so "
            "(./dev sanitize), or run this under gdb; without the plugin the job may go on";
  else
    line << "please report this, with the lines below, as a fault of dlhost";
  line.write();
}

void write_backtrace() {
  void* frames[48];
  // Should the unwinder wait for something that the crash holds, the alarm ends the process.
  std::signal(SIGALRM, SIG_DFL);
  alarm(5);
  const int count = backtrace(frames, std::size(frames));
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  alarm(0);
}

void on_fault(int number, siginfo_t* info, void*) {
  claim_telling();
  const int thread = gettid();
  const Doing doing = doing_of_thread(thread);
  write_first_line(doing, "crashed with ", fault_signals[index_of(number)].name);
  write_address(number, *info);
  write_others(thread);
  write_remedy(doing);
  write_checkpoint(checkpoint_to_tell());
  write_backtrace();
  // Whoever was there before, or the system, does the rest: the faulting instruction runs again, or the signal comes
  // again when it was sent.
  sigaction(number, &handlers_before[index_of(number)], nullptr);
  if (info->si_code <= 0) raise(number);
}

[[noreturn]] void on_terminate() {
  claim_telling();
  const int thread = gettid();
  const Doing doing = doing_of_thread(thread);
  write_first_line(doing, "ended the program by an exception that nobody caught");
  if (const auto exception = std::current_exception()) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& e) {
      FaultLine line;
      line << "the exception says: " << e.what();
      line.write();
    } catch (...) {
      FaultLine line;
      line << "the exception is no std::exception";
      line.write();
    }
  }
  write_others(thread);
  write_remedy(doing);
  write_checkpoint(checkpoint_to_tell());
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

} // namespace

void install_fault_handlers() {
  static bool installed = false;
  if (std::exchange(installed, true)) return;
  void* frame = nullptr;
  backtrace(&frame, 1); // loads the unwinder now: inside a handler it would be too late
  for (std::size_t i = 0; i < std::size(fault_signals); ++i) {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(fault_signals[i].number, &action, &handlers_before[i]);
  }
  std::set_terminate(on_terminate);
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
