#include "env/terminal.h"

#include <cstdlib>
#include <span>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include "env/posix.h"

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

} // namespace dlhost::env
