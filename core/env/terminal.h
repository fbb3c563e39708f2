// Where words for people go that are no log lines: progress, tables, charts. Made by the command line, lent to whoever
// prints; one task writes at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace dlhost::env {

class Terminal {
 public:
  virtual ~Terminal() = default;
  // A person watches, and a line can be drawn over; else a file or a pipe takes what is written.
  virtual bool interactive() = 0;
  virtual int columns() = 0; // as it is now: people resize
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
  // What the system does not take is lost: nobody is there to be told.
  void write(std::string_view) override;

 private:
  int descriptor_;
  bool interactive_;
  bool unicode_;
  bool color_;
};

// Keys as they are pressed at standard input, without being shown there; afterwards the terminal is as it was. Where
// standard input is no terminal, no key is pressed.
class Keys {
 public:
  Keys();
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  // The next one, at most so many nanoseconds later; a signal ends the wait.
  std::optional<char> next(std::int64_t limit);

 private:
  struct Before;                   // how the terminal was
  std::unique_ptr<Before> before_; // null: there is none
};

} // namespace dlhost::env
