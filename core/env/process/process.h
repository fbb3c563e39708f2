// A process that this one started or has taken over, of this program or another. Started by exec: a fork of a process
// with computing threads would hang.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/status.h>

#include "env/process/posix.h"

namespace dlhost::env {

class Process {
 public:
  // Runs own_program() with these arguments; appends its output to the file `words`. `in`: its standard input; -1:
  // empty.
  static Result<std::unique_ptr<Process>> start_own(const std::vector<std::string>& arguments, const std::string& words,
                                                    int in = -1);
  // Runs a program found by PATH, with these descriptors as its standard files. Ctrl-C at the terminal does not reach
  // it.
  struct Files {
    int in = 0, out = 1, err = 2;
  };
  static Result<std::unique_ptr<Process>> start(const std::vector<std::string>& words, const Files&);
  // Takes over a process that another one started. Requires: it belongs to this user.
  static std::unique_ptr<Process> adopt(int number);
  // Kills the process if it still runs, unless let_go() was called.
  ~Process();
  void let_go() { is_let_go_ = true; }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int number() const { return number_; }
  // How it ended: "was killed by SIGTERM", "was killed by dlhost" (by kill()), "ended with exit status 1", "has ended"
  // (another process started it); none: it runs.
  std::optional<std::string> ended();
  // Whether it has ended with this status, or by a signal that no person, pipe or out-of-memory killer sends.
  bool ended_by_fault(int status);
  // The exit status as a shell gives it; none: it runs.
  std::optional<int> exit_status();
  void kill();
  // Waits until it ends; false: it still runs after so many nanoseconds.
  bool wait(std::int64_t limit);

 private:
  explicit Process(int number) : number_(number) {}
  bool reap(bool wait);
  bool reap_adopted(bool wait);

  int number_;
  std::optional<int> status_;
  Descriptor adopted_;      // refers to a process that another one started: its number may be used again
  bool is_unknown_ = false; // only its parent knows how it ended
  bool is_killed_ = false;  // by kill()
  bool is_let_go_ = false;
};

// Replaces this process' program by a new start of it (exec) with these arguments; appends its output to the file
// `words`. Returns only on failure.
Status become_own(const std::vector<std::string>& arguments, const std::string& words);

// Ends this process at once, without exit handlers. Async-signal-safe.
[[noreturn]] void end_now(int status) noexcept;

// Sends SIGTERM or SIGKILL. False: no such process, or no permission.
bool ask_to_end(int process);
bool kill(int process);
bool runs(int process);
// Whether that is a word of the command line of `process`.
bool has_word(int process, std::string_view word);
// Whether `process` exists and is a child of `parent`.
bool is_child_of(int process, int parent);

// The numbers of this process and of its parent (the process that has adopted it, after the first parent's end).
int own_process();
int parent_process();
// The path of the program that this process belongs to: its own file, unless act_for() named another.
std::string own_program();
// For a tool: start_own() starts `program`, and plugins are searched from its folder. Call before any thread starts.
void act_for(std::string program);
// The folder where relative paths start.
std::string working_folder();
// The path from the root on: it stays right if a plugin changes the working folder.
std::string absolute_path(const std::string& path);

// "alice"; "user 1001" if the system has no name for the number.
std::string user_named(std::uint32_t user);
// "the group staff"; "the group 1001" if the system has no name for the number.
std::string group_named(std::uint32_t group);
// Whether `group` is the user's private group: the user's first group, with the user's name, as most systems make it.
// Users without a passwd entry (containers) own the group with their number.
bool is_own_group(std::uint32_t user, std::uint32_t group);
// Whether this process is in the group.
bool is_in_group(std::uint32_t group);

// Ctrl-C and the signals of a whole group or job reach all its processes: those that obey another process ignore them.
void ignore_interrupts();

} // namespace dlhost::env
