// Another process, of this program or of another one. Started by exec: a fork of a process whose threads compute would
// hang.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::env {

class Process {
 public:
  // Runs this program's own file with these arguments; what it says goes to the end of the file `words`. `in` is its
  // standard input; -1: an empty one.
  static Result<std::unique_ptr<Process>> start_own(const std::vector<std::string>& arguments, const std::string& words,
                                                    int in = -1);
  // Runs a program of the system, found where shells look, whose standard files are these descriptors. Ctrl-C at the
  // terminal does not reach it.
  struct Files {
    int in = 0, out = 1, err = 2;
  };
  static Result<std::unique_ptr<Process>> start(const std::vector<std::string>& words, const Files&);
  // Ends it at once where it has not ended by itself.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int number() const { return number_; }
  // How it ended, in words: "was killed by SIGTERM", "ended with exit status 1"; none: it runs.
  std::optional<std::string> ended();
  // It has ended, with this status or by a signal of a fault in its code, such as SIGSEGV.
  bool ended_by_fault(int status);
  // As a shell has it; none: it runs.
  std::optional<int> exit_status();
  // Ends it at once.
  void kill();
  // Until it has ended by itself; false: it has not, after so many nanoseconds.
  bool wait(std::int64_t limit);

 private:
  explicit Process(int number) : number_(number) {}
  bool reap(bool wait);

  int number_;
  std::optional<int> status_;
};

// This process runs this program anew, with these arguments; what it says goes to the end of the file `words`. Returns
// only where that cannot be.
Status become_own(const std::vector<std::string>& arguments, const std::string& words);

// Ends this process at once: nothing that libraries have registered for its end is run. Async-signal-safe.
[[noreturn]] void end_now(int status) noexcept;

// Asks a process to end, or ends it. False: there is no such process, or it is another's.
bool ask_to_end(int process);
bool kill(int process);
// Whether there is such a process.
bool runs(int process);
// Whether `process` was started by `parent` and is there.
bool is_child_of(int process, int parent);

// The numbers of this process and of the one that started it, or that has taken it over.
int own_process();
int parent_process();
// The file that this one runs.
std::string own_program();
// Where this one's relative paths begin.
std::string working_folder();

// "alice"; "user 1001" where the system has no name for that number.
std::string user_named(std::uint32_t user);

// Ctrl-C, and what ends a whole group or job, reaches all processes of it: those that are told by another what to do
// let it pass.
void ignore_interrupts();

} // namespace dlhost::env
