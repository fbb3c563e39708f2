// A line between a process and one that it has started, by which the second learns how the first one ends: it says so
// before it ends in order, and the kernel closes the line of one that is killed. It outlasts exec, when it is handed
// over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/status.h>

#include "env/process/posix.h"
#include "env/process/process.h"

namespace dlhost::env {

// The end of the process that may be killed.
// Thread: one at a time. Owns: its end of the line, and the other process, unless that was started before an exec.
class Lifeline {
 public:
  // Starts this program's own file with these arguments; the other end of the line is its standard input.
  static Result<Lifeline> start_own(const std::vector<std::string>& arguments, const std::string& words);
  // For the program that this process runs next; by this one it is given up.
  Result<int> hand_over();
  static Result<Lifeline> adopt(int descriptor);

  // Until the other process has said that it watches. Errors: it has ended, or has not said so within the limit.
  Status await_watcher(std::int64_t nanoseconds);
  // The other process is gone.
  bool is_cut() const;
  // This process ends in order: the other one ends as well, and is waited for where this one has started it.
  void let_go();

 private:
  explicit Lifeline(Descriptor line) : line_(std::move(line)) {}
  Descriptor line_;
  std::unique_ptr<Process> watcher_; // null: an earlier program of this process has started it
};

// The other end, which is standard input.
class Watcher {
 public:
  enum class End { in_order, killed };
  Status say_that_it_watches();
  // None: the other process lives, after so many nanoseconds.
  std::optional<End> await_end(std::int64_t nanoseconds);
};

} // namespace dlhost::env
