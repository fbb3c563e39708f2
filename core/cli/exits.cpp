// Replaces the C library's functions that end a process or its program, so that a plugin that calls one is named
// (plugin/exits.h). The C library's internal calls (posix_spawn, system) and main's return do not come here.
#include <cstdarg>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include "env/process/process.h"
#include "plugin/exits.h"
#include "plugin/faults.h"

namespace {

// Calls the C library's function, which runs the exit handlers.
[[noreturn]] void go_on(const char* call, int status) {
  using Exit = void (*)(int);
  if (const auto next = reinterpret_cast<Exit>(dlsym(RTLD_NEXT, call))) next(status);
  dlhost::env::end_now(status);
}

// The C library's functions, which do the work.
template <class Function> Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
auto* next_execve() {
  static auto* const found = next<int(const char*, char* const[], char* const[])>("execve");
  return found;
}
auto* next_execvpe() {
  static auto* const found = next<int(const char*, char* const[], char* const[])>("execvpe");
  return found;
}
auto* next_fexecve() {
  static auto* const found = next<int(int, char* const[], char* const[])>("fexecve");
  return found;
}
auto* next_execveat() {
  static auto* const found = next<int(int, const char*, char* const[], char* const[], int)>("execveat");
  return found;
}
auto* next_abort() {
  static auto* const found = next<void()>("abort");
  return found;
}
auto* next_assert_fail() {
  static auto* const found = next<void(const char*, const char*, unsigned, const char*)>("__assert_fail");
  return found;
}
auto* next_daemon() {
  static auto* const found = next<int(int, int)>("daemon");
  return found;
}
// Found before main: a forked child may call exec, but not dlsym.
[[maybe_unused]] const bool all_found =
    next_execve() && next_execvpe() && next_fexecve() && next_execveat() && next_abort() && next_assert_fail();

// The words of execl: arguments up to a null.
struct Words {
  va_list rest;
  const char* first;

  std::size_t count() {
    va_list copy;
    va_copy(copy, rest);
    std::size_t count = 0;
    for (const char* word = first; word; word = va_arg(copy, const char*)) ++count;
    va_end(copy);
    return count;
  }
  // Reads the words and the null after them.
  char** read(char** into) {
    char** end = into;
    for (const char* word = first; word; word = va_arg(rest, const char*)) *end++ = const_cast<char*>(word);
    *end = nullptr;
    return into;
  }
};

} // namespace

// The array lives as long as the calling function: exec may be called where no memory can be allocated.
#define DLHOST_WORDS_OF(words, last)                                                                                   \
  Words words{};                                                                                                       \
  words.first = last;                                                                                                  \
  va_start(words.rest, last);                                                                                          \
  char** const argv = words.read(static_cast<char**>(__builtin_alloca((words.count() + 1) * sizeof(char*))))

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

__attribute__((visibility("default"))) void abort() noexcept {
  dlhost::plugin::expect_abort();
  next_abort()();
  dlhost::env::end_now(dlhost::plugin::fault_exit_code);
}

// It forks and ends this process, by a call inside the C library.
__attribute__((visibility("default"))) int daemon(int nochdir, int noclose) noexcept {
  dlhost::plugin::judge_exit("daemon", nochdir, __builtin_return_address(0));
  return next_daemon()(nochdir, noclose);
}

// assert calls it; it calls the C library's own abort.
__attribute__((visibility("default"), noreturn)) void __assert_fail(const char* condition, const char* file,
                                                                    unsigned line, const char* function) noexcept {
  dlhost::plugin::expect_abort();
  next_assert_fail()(condition, file, line, function);
  dlhost::env::end_now(dlhost::plugin::fault_exit_code);
}

__attribute__((visibility("default"))) int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  dlhost::plugin::judge_exec("execve", path, __builtin_return_address(0));
  return next_execve()(path, argv, envp);
}

__attribute__((visibility("default"))) int execv(const char* path, char* const argv[]) noexcept {
  dlhost::plugin::judge_exec("execv", path, __builtin_return_address(0));
  return next_execve()(path, argv, environ);
}

__attribute__((visibility("default"))) int execvp(const char* file, char* const argv[]) noexcept {
  dlhost::plugin::judge_exec("execvp", file, __builtin_return_address(0));
  return next_execvpe()(file, argv, environ);
}

__attribute__((visibility("default"))) int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  dlhost::plugin::judge_exec("execvpe", file, __builtin_return_address(0));
  return next_execvpe()(file, argv, envp);
}

__attribute__((visibility("default"))) int fexecve(int file, char* const argv[], char* const envp[]) noexcept {
  dlhost::plugin::judge_exec("fexecve", "a descriptor", __builtin_return_address(0));
  return next_fexecve()(file, argv, envp);
}

__attribute__((visibility("default"))) int execveat(int folder, const char* path, char* const argv[],
                                                    char* const envp[], int flags) noexcept {
  dlhost::plugin::judge_exec("execveat", path, __builtin_return_address(0));
  return next_execveat()(folder, path, argv, envp, flags);
}

__attribute__((visibility("default"))) int execl(const char* path, const char* first, ...) noexcept {
  dlhost::plugin::judge_exec("execl", path, __builtin_return_address(0));
  DLHOST_WORDS_OF(words, first);
  const int result = next_execve()(path, argv, environ);
  va_end(words.rest);
  return result;
}

__attribute__((visibility("default"))) int execlp(const char* file, const char* first, ...) noexcept {
  dlhost::plugin::judge_exec("execlp", file, __builtin_return_address(0));
  DLHOST_WORDS_OF(words, first);
  const int result = next_execvpe()(file, argv, environ);
  va_end(words.rest);
  return result;
}

__attribute__((visibility("default"))) int execle(const char* path, const char* first, ...) noexcept {
  dlhost::plugin::judge_exec("execle", path, __builtin_return_address(0));
  DLHOST_WORDS_OF(words, first);
  const int result = next_execve()(path, argv, va_arg(words.rest, char* const*));
  va_end(words.rest);
  return result;
}

} // extern "C"
