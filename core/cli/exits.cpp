// The functions by which code ends its process, in front of the C library's: a plugin that calls one finds these, so
// that it is named (plugin/exits.h). The C library's own calls do not come here, nor does what main returns.
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include "env/process/process.h"
#include "plugin/exits.h"

namespace {

// What runs at the end of a process is run.
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
