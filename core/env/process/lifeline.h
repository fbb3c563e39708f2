// A line between a parent process and its watcher, by which the watcher learns how the parent ends. The parent sends a
// byte before an orderly end; if it is killed, the kernel closes the line. A handed-over line survives exec.
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

// The parent's end.
// Thread: one at a time. Owns: its end of the line, and the watcher if this program has started it (not one before
// exec).
class Lifeline {
 public:
  // Starts this program's own file with these arguments; the watcher's end of the line is its standard input.
  static Result<Lifeline> start_own(const std::vector<std::string>& arguments, const std::string& words);
  // Gives up this end to the program that this process runs next; returns its descriptor.
  Result<int> hand_over();
  static Result<Lifeline> adopt(int descriptor);

  // Waits until the watcher says that it watches. Errors: it has ended, or has not said so within the limit.
  Status await_watcher(std::int64_t nanoseconds);
  // Whether the watcher is gone.
  bool is_cut() const;
  // Announces an orderly end: the watcher ends as well. Waits for it if this program has started it.
  void let_go();

 private:
  explicit Lifeline(Descriptor line) : line_(std::move(line)) {}
  Descriptor line_;
  std::unique_ptr<Process> watcher_; // null: an earlier program of this process has started it
};

// The watcher's end: its standard input.
class Watcher {
 public:
  enum class End { in_order, killed };
  Status say_that_it_watches();
  // None: the parent still lives after so many nanoseconds.
  std::optional<End> await_end(std::int64_t nanoseconds);
};

} // namespace dlhost::env
