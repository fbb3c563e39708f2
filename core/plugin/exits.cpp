#include "plugin/exits.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include <execinfo.h>
#include <unistd.h>

#include "plugin/activity.h"
#include "plugin/code.h"
#include "plugin/fault_text.h"
#include "plugin/faults.h"

namespace dlhost::plugin {
namespace {

constexpr Nanoseconds end_limit = 10'000'000'000;
constexpr int not_ordered = -1;

std::atomic<int> guarded_process{0};
std::atomic<int> ordered{not_ordered}; // the exit status of order_end

bool is_ordered() { return ordered.load() != not_ordered; }

// Keeps an ordered status other than 0: a library's exit handler may call exit after order_end.
[[noreturn]] void tell(const FaultLine& what, const Doing& doing, const void* place, std::string_view remedy) {
  end_by_fault(what.text(), doing, place, remedy, ordered.load() > 0 ? ordered.load() : fault_exit_code);
}

[[noreturn]] void tell_exit(const char* call, const int* status, const Doing& doing, const void* place) {
  FaultLine what;
  what << "called " << call;
  if (status) what << "(" << static_cast<std::uint64_t>(*status & 0xff) << ")";
  tell(what, doing, place, "a plugin returns a Status or throws; it never ends the process");
}

// A call of exit that judge_exit did not see: from libc itself (err, error) or a library of the system.
void on_exit() {
  if (getpid() != guarded_process || is_ordered()) return;
  std::array<void*, 48> frames{};
  const auto count = static_cast<std::size_t>(backtrace(frames.data(), static_cast<int>(frames.size())));
  tell_exit("exit", nullptr, doing_of_thread(gettid()), first_of_plugins({frames.data(), count}));
}

} // namespace

void install_exit_guard() {
  guarded_process = getpid();
  watch_forked_children();
  std::atexit(on_exit);
  std::at_quick_exit(on_exit);
}

void order_end(int status) {
  ordered = status;
  static const Deadline* const deadline =
      new Deadline(remember("", "", "exit", ""), "exit handlers of libraries, when the process ends",
                   end_limit); // lives until the very end
  static_cast<void>(deadline);
}

void judge_exit(const char* call, int status, const void* caller) {
  if (getpid() != guarded_process) return;
  const Doing doing = doing_of_thread(gettid());
  if (doing.actor || code_at(caller)) tell_exit(call, &status, doing, caller);
}

void judge_exec(const char* call, const char* program, const void* caller) {
  if (getpid() != guarded_process) return;
  const Doing doing = doing_of_thread(gettid());
  if (!doing.actor && !code_at(caller)) return;
  constexpr std::size_t longest_shown = 512; // leaves room for the place
  FaultLine what;
  what << "called " << call << "(\"" << std::string_view(program).substr(0, longest_shown) << "\")";
  tell(what, doing, caller,
       "a plugin never replaces the program: it starts another by posix_spawn, or by exec in a child that it forked");
}

} // namespace dlhost::plugin
