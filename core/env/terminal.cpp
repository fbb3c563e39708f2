#include "env/terminal.h"

#include <cstdlib>
#include <span>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "env/process/posix.h"

namespace dlhost::env {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// As the C library would choose the locale's character set, without changing the locale of the process.
bool says_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    for (const std::string_view word : {"UTF-8", "utf-8", "UTF8", "utf8"})
      if (value.find(word) != std::string_view::npos) return true;
    return false;
  }
  return false;
}

} // namespace

StandardTerminal::StandardTerminal(int descriptor)
    : descriptor_(descriptor), interactive_(::isatty(descriptor) == 1 && variable("TERM") != "dumb"),
      unicode_(says_utf8()), color_(interactive_ && variable("NO_COLOR").empty()) {}

int StandardTerminal::columns() {
  constexpr int usual = 80;
  struct winsize size {};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual;
  return size.ws_col;
}

void StandardTerminal::write(std::string_view text) {
  write_whole(descriptor_, std::as_bytes(std::span(text)), "the terminal").ignore("nobody is there to be told");
}

struct Keys::Before {
  termios settings{};
};

Keys::Keys() {
  auto before = std::make_unique<Before>();
  if (::isatty(STDIN_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &before->settings) != 0) return;
  termios bare = before->settings;
  bare.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  bare.c_cc[VMIN] = 0;
  bare.c_cc[VTIME] = 0;
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &bare) == 0) before_ = std::move(before);
}

Keys::~Keys() {
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_->settings);
}

std::optional<char> Keys::next(std::int64_t limit) {
  constexpr std::int64_t millisecond = 1'000'000;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&input, before_ ? 1 : 0, static_cast<int>(limit / millisecond));
  char key = 0;
  if (ready <= 0 || ::read(STDIN_FILENO, &key, 1) != 1) return {};
  return key;
}

} // namespace dlhost::env
