// When the process is about to die of a plugin's fault: says in words which plugin, which instance, which phase and
// step, what to do, and where the last whole checkpoint is, and leaves that in the run's summary
// (env/process/failure_note.h); then lets the process end as the system would. Handlers use nothing that a signal may
// not use.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <dlhost/host.h>

#include "plugin/activity.h"

namespace dlhost::plugin {

// For SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT and std::terminate. Once, by main, before plugins are loaded. Handlers
// that were there (a sanitizer's) get their turn afterwards.
void install_fault_handlers();

// The newest checkpoint that is complete on disk, an immortal text; null while there is none.
void tell_checkpoint(const char* path) noexcept;
const char* checkpoint_to_tell() noexcept;

// While it lives, a fault inside these bytes is explained as a touch of device memory that the host cannot reach. At
// most 256 of them at once; more go unexplained.
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

// Ends the process, naming the actor, unless it is destroyed within `limit`. For what cannot be interrupted otherwise:
// a library's start-up code, init. `doing` is immortal: "loading".
class Deadline {
 public:
  Deadline(const Actor*, const char* doing, Nanoseconds limit);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::size_t record_; // one past the last: more deadlines than records, this one is not watched
};

// From now on: a task that is inside one call of a plugin for longer than `limit` ends the process, named;
// `when_asked`: after the process was asked to end. 0: never.
void watch_progress(Nanoseconds limit, Nanoseconds when_asked = 0);
// What holds until somebody says otherwise, from the first library on.
inline constexpr Nanoseconds call_limit = 600'000'000'000;
inline constexpr Nanoseconds call_limit_when_asked = 10'000'000'000;

// What a process returns that a plugin has ended, or that was ended because one hangs.
inline constexpr int fault_exit_code = 70;

// Says that a plugin did `what` ("called exit(0)"), and ends the process with that status. `place`: an address in the
// code that did it, where `doing` does not say who it was; may be null. Async-signal-safe.
[[noreturn]] void end_by_fault(std::string_view what, const Doing& doing, const void* place, std::string_view remedy,
                               int status) noexcept;

} // namespace dlhost::plugin
