// Replaces the C library's functions that end a process, so that a plugin that calls one is named (plugin/exits.h). The
// C library's internal calls and main's return do not come here.
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include "env/process/process.h"
#include "plugin/exits.h"

namespace {

// Calls the C library's function, which runs the exit handlers.
[[noreturn]] void go_on(const char* call, int status) {
  using Exit = void (*)(int);
  if (const auto next = reinterpret_cast<Exit>(dlsym(RTLD_NEXT, call))) next(status);
  dlhost::env::end_now(status);
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) void exit(int status) noexcept {
  dlhost::plugin::judge_exit("exit", status, __builtin_return_address(0));
  go_on("exit", status);
}

__attribute__((visibility("default"))) void quick_exit(int status) noexcept {
  dlhost::plugin::judge_exit("quick_exit", status, __builtin_return_address(0));
  go_on("quick_exit", status);
}

__attribute__((visibility("default"))) void _exit(int status) {
  dlhost::plugin::judge_exit("_exit", status, __builtin_return_address(0));
  dlhost::env::end_now(status);
}

__attribute__((visibility("default"))) void _Exit(int status) noexcept {
  dlhost::plugin::judge_exit("_Exit", status, __builtin_return_address(0));
  dlhost::env::end_now(status);
}

} // extern "C"
