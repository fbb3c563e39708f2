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

// Says it, and leaves it in the run's summary. Where nobody noted a call, the code at `place` says who it was.
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

// The calls that led here. Should the unwinder wait for something that the crash holds, the alarm ends the process,
// after what is known without them.
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
  // In the innermost code of a plugin; null: in none.
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

void on_fault(int number, siginfo_t* info, void*) {
  claim_telling();
  const int thread = gettid();
  const Doing doing = doing_of_thread(thread);
  FaultLine what;
  what << "crashed with " << fault_signals[index_of(number)].name;
  if (doing.actor) {
    Frames::told = true; // whatever the unwinder does
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
  // Whoever was there before, or the system, does the rest: the faulting instruction runs again, or the signal comes
  // again when it was sent.
  sigaction(number, &handlers_before[index_of(number)], nullptr);
  if (info->si_code <= 0) raise(number);
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
    line << "the exception is no std::exception";
  }
  line.write();
}

[[noreturn]] void on_terminate() {
  claim_telling();
  const int thread = gettid();
  const Doing doing = doing_of_thread(thread);
  const void* const place = doing.actor ? nullptr : Frames().of_plugin();
  Frames::told = true;
  write_first_line(doing, "ended the program by an exception that nobody caught", place);
  write_exception();
  write_others(thread);
  write_remedy(doing, place);
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
