// The output for people beside the log: progress, tables, charts. The command line makes it and lends it. Thread: one
// task at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace dlhost::env {

class Terminal {
 public:
  virtual ~Terminal() = default;
  // True: a person watches, and lines can be redrawn; false: a file or a pipe.
  virtual bool interactive() = 0;
  virtual int columns() = 0; // the present width: people resize
  virtual bool unicode() = 0;
  virtual bool color() = 0;
  virtual void write(std::string_view) = 0;
};

// Standard output (1) or standard error (2) of this process.
class StandardTerminal final : public Terminal {
 public:
  explicit StandardTerminal(int descriptor);
  bool interactive() override { return interactive_; }
  int columns() override;
  bool unicode() override { return unicode_; }
  bool color() override { return color_; }
  // Errors of the system are ignored: nothing could show them.
  void write(std::string_view) override;

 private:
  int descriptor_;
  bool interactive_;
  bool unicode_;
  bool color_;
};

// Keys pressed at standard input, without echo. The destructor restores the terminal. If standard input is no terminal,
// no key comes.
class Keys {
 public:
  Keys();
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  // The next key; waits at most so many nanoseconds. A signal ends the wait.
  std::optional<char> next(std::int64_t limit);

 private:
  struct Before;                   // the terminal's settings
  std::unique_ptr<Before> before_; // null: no terminal
};

} // namespace dlhost::env
