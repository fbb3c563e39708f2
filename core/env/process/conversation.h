// A program of the system that is talked with: what it is told, and what it says, goes through pipes that this process
// holds. When this one ends, however it does, the other's input ends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "env/process/posix.h"
#include "env/process/process.h"

namespace dlhost::env {

class Conversation {
 public:
  static Result<std::unique_ptr<Conversation>> start(const std::vector<std::string>& words);

  Process& process() { return *process_; }
  Status tell(std::string_view text);
  // Nothing more will be told.
  void end_input() { in_ = Descriptor(); }

  // One of the two files that it writes to. Not valid: it has closed it, or ended.
  Descriptor& out() { return out_; }
  Descriptor& err() { return err_; }
  // What has come there since, without waiting.
  static std::string hear(Descriptor&);
  // Until something has come at one of them, for as long as `limit`, in nanoseconds.
  static void await(std::span<const Descriptor* const> any, std::int64_t limit);

 private:
  Descriptor in_, out_, err_;
  std::unique_ptr<Process> process_;
};

} // namespace dlhost::env
