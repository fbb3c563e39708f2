// Handlers for a process that dies of a plugin's fault. They report which plugin, instance, phase and step it was, what
// to do, and the newest complete checkpoint, also in the run's summary (env/process/failure_note.h). Then the process
// ends as the system would end it. All handlers are async-signal-safe.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <dlhost/host.h>

#include "plugin/activity.h"

namespace dlhost::plugin {

// Handles SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS and std::terminate. Previous handlers (a
// sanitizer's) run afterwards. Also handles the signals of timers and the like (SIGALRM, SIGUSR1, ...) whose default
// action ends the process, unless they are ignored or handled already. Called once by main, before plugins are loaded.
void install_fault_handlers();
// Call at the start of abort: a SIGABRT that a plugin ignores would end the process without a word.
void expect_abort() noexcept;

// The newest checkpoint that is complete on disk, as an immortal text. Before the first call, faults say nothing about
// checkpoints: this process, such as a worker, does not write them.
void tell_checkpoint(const char* path) noexcept;
inline constexpr const char* no_checkpoint_yet = "";
const char* checkpoint_to_tell() noexcept;

// While it lives, a fault inside these bytes is reported as an access to device memory from the host. At most 256 at
// once; more go without this report.
class FarMemory {
 public:
  FarMemory() = default;
  FarMemory(const void* begin, std::size_t bytes) noexcept;
  FarMemory(FarMemory&& other) noexcept : begin_(std::exchange(other.begin_, nullptr)) {}
  FarMemory& operator=(FarMemory&& other) noexcept {
    std::swap(begin_, other.begin_);
    return *this;
  }
  ~FarMemory();

 private:
  const void* begin_ = nullptr;
};

// Ends the process, naming the actor, unless destroyed within `limit`. For code that cannot be interrupted otherwise: a
// library's start-up code, init. Requires: `doing` is immortal, such as "loading".
class Deadline {
 public:
  Deadline(const Actor*, const char* doing, Nanoseconds limit);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::size_t record_; // index; one past the last: no free record, so not watched
};

// From now on a call of a plugin that takes longer than `limit` ends the process and is named. `when_asked`: the limit
// after the process was asked to end. 0: no limit.
void watch_progress(Nanoseconds limit, Nanoseconds when_asked = 0);
// The limits until watch_progress is called.
inline constexpr Nanoseconds call_limit = 600'000'000'000;
inline constexpr Nanoseconds call_limit_when_asked = 10'000'000'000;

// The exit status after a plugin ended the process or hung.
inline constexpr int fault_exit_code = 70;

// Reports that a plugin did `what` ("called exit(0)") and ends the process with `status`. `place`: an address in the
// code that did it, for a `doing` without an actor; may be null. Async-signal-safe.
[[noreturn]] void end_by_fault(std::string_view what, const Doing& doing, const void* place, std::string_view remedy,
                               int status) noexcept;

} // namespace dlhost::plugin
