// A conversation with another program through pipes: its standard input, output and error. When this process ends, in
// any way, the program sees the end of its input.
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
  // Closes the program's input.
  void end_input() { in_ = Descriptor(); }

  // The program's standard output and error. Not valid: the program has closed the file, or ended.
  Descriptor& out() { return out_; }
  Descriptor& err() { return err_; }
  // Reads what has arrived, without waiting.
  static std::string hear(Descriptor&);
  // Waits until data has arrived at one of the files, for at most `limit` nanoseconds.
  static void await(std::span<const Descriptor* const> any, std::int64_t limit);

 private:
  Descriptor in_, out_, err_;
  std::unique_ptr<Process> process_;
};

} // namespace dlhost::env
