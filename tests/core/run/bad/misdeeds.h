// A plugin's possible misdeeds, one enumerator each.
#pragma once

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <csignal>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlhost/schema.h>

namespace {

enum class How {
  well,
  throws,
  throws_garbage, // 50 MB of bytes that must not reach a terminal
  throws_number,
  crashes,
  hangs,
  hangs_deaf, // with all signals blocked
  spins_deaf,
  exits,
  exits_at_once,
  exits_quickly,
  exits_later, // in a handler at the process's exit
  vanishes,    // past every function that could be intercepted
  aborts,
  crashes_in_thread,
  aborts_in_thread,
  exits_in_thread,
  throws_in_thread,
  alarms,
  signals_itself,
  aborts_unheard, // with SIGABRT ignored and blocked
  asserts_unheard,
  traps,
  execs,
  execs_in_thread,
  execs_in_child, // which is no misdeed
  forks,          // and the child returns
  daemonizes,
  crashes_in_child,
  stops, // the whole process, as SIGSTOP does
};

inline constexpr std::pair<std::string_view, How> hows[] = {
    {"well", How::well},
    {"throws", How::throws},
    {"throws_garbage", How::throws_garbage},
    {"throws_number", How::throws_number},
    {"crashes", How::crashes},
    {"hangs", How::hangs},
    {"hangs_deaf", How::hangs_deaf},
    {"spins_deaf", How::spins_deaf},
    {"exits", How::exits},
    {"exits_at_once", How::exits_at_once},
    {"exits_quickly", How::exits_quickly},
    {"exits_later", How::exits_later},
    {"vanishes", How::vanishes},
    {"aborts", How::aborts},
    {"crashes_in_thread", How::crashes_in_thread},
    {"aborts_in_thread", How::aborts_in_thread},
    {"exits_in_thread", How::exits_in_thread},
    {"throws_in_thread", How::throws_in_thread},
    {"alarms", How::alarms},
    {"signals_itself", How::signals_itself},
    {"aborts_unheard", How::aborts_unheard},
    {"asserts_unheard", How::asserts_unheard},
    {"traps", How::traps},
    {"execs", How::execs},
    {"execs_in_thread", How::execs_in_thread},
    {"execs_in_child", How::execs_in_child},
    {"forks", How::forks},
    {"daemonizes", How::daemonizes},
    {"crashes_in_child", How::crashes_in_child},
    {"stops", How::stops},
};

[[noreturn]] inline void hang() {
  std::fputs("misbehaving: hangs now\n", stderr); // tests wait for it
  for (;;) pause();
}

inline void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

inline void ignore_aborts() {
  block_all_signals();
  std::signal(SIGABRT, SIG_IGN);
}

inline void crash() {
  volatile int* const nothing = nullptr;
  *nothing = 1;
}

// The host's thread waits, so that only the new thread misbehaves.
template <class Deed> void in_thread(Deed deed) {
  std::thread(deed).detach();
  sleep(20);
}

[[noreturn]] inline void throw_garbage() {
  std::string text = "\x1b[2J\x1b]0;title\x07 \xff\xfe\xc3( ";
  text.resize(50'000'000, '\x1b');
  throw std::runtime_error(text);
}

inline void exec_true() {
  execl("/bin/true", "true", nullptr);
  std::fputs("misbehaving: exec failed\n", stderr);
}

// Through each function with arguments of another shape.
inline void exec_in_children() {
  const char* const words[] = {"sh", "-c", "exit $((40 + $SUM))", nullptr};
  const char* const environment[] = {"SUM=2", nullptr};
  char* const* const argv = const_cast<char* const*>(words);
  char* const* const envp = const_cast<char* const*>(environment);
  for (int way = 0; way < 4; ++way) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("SUM", "2", 1);
      if (way == 0) execle("/bin/sh", words[0], words[1], words[2], nullptr, envp);
      if (way == 1) execlp("sh", words[0], words[1], words[2], nullptr);
      if (way == 2) execvp("sh", argv);
      if (way == 3) execve("/bin/sh", argv, envp);
      _exit(1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 42)
      throw std::runtime_error("a child did not become the shell: way " + std::to_string(way));
  }
}

inline void misbehave(How how) {
  switch (how) {
  case How::well: return;
  case How::throws: throw std::runtime_error("out of ideas");
  case How::throws_garbage: throw_garbage();
  case How::throws_number: throw 7;
  case How::crashes: return crash();
  case How::hangs: hang();
  case How::hangs_deaf: block_all_signals(); hang();
  case How::spins_deaf:
    block_all_signals();
    for (volatile bool forever = true; forever;) {
    }
    return;
  case How::exits: std::exit(0);
  case How::exits_at_once: _exit(0);
  case How::exits_quickly: std::quick_exit(0);
  case How::exits_later: std::atexit([] { _exit(0); }); return;
  case How::vanishes: syscall(SYS_exit_group, 0); return;
  case How::aborts: std::abort();
  case How::crashes_in_thread: return in_thread(crash);
  case How::aborts_in_thread: return in_thread([] { std::abort(); });
  case How::exits_in_thread: return in_thread([] { std::exit(0); });
  case How::throws_in_thread: return in_thread([] { throw std::runtime_error("out of ideas"); });
  case How::alarms:
    ualarm(50'000, 0);
    sleep(20);
    return;
  case How::signals_itself: std::raise(SIGUSR1); return;
  case How::aborts_unheard: ignore_aborts(); std::abort();
  case How::asserts_unheard: ignore_aborts(); __assert_fail("true", "misdeeds.h", 1, "misbehave");
  case How::traps: std::raise(SIGTRAP); return;
  case How::execs: return exec_true();
  case How::execs_in_thread: return in_thread(exec_true);
  case How::execs_in_child: return exec_in_children();
  case How::forks: static_cast<void>(fork()); return;
  case How::daemonizes: static_cast<void>(daemon(0, 0)); return;
  case How::crashes_in_child: {
    const pid_t child = fork();
    if (child == 0) crash();
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
      throw std::runtime_error("the child did not end by SIGSEGV");
    return;
  }
  case How::stops: std::raise(SIGSTOP); return;
  }
}

// Whether this process is a worker of a run, and not its leader.
inline bool is_worker() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return words.find(std::string("\0worker\0", 8)) != std::string::npos;
}

struct Trouble {
  How how = How::well;
  std::string where;
  std::int64_t step = 0;
  std::string who = "all"; // or "leader", "worker"

  void at(std::string_view here, std::uint64_t now = 0) const {
    if (here == where && (step < 0 || now == static_cast<std::uint64_t>(step))) act();
  }
  void act() const {
    if (who == "all" || is_worker() == (who == "worker")) misbehave(how);
  }
};

template <class Options> dlhost::Schema trouble(dlhost::SchemaOf<Options> schema) {
  std::vector<std::pair<std::string, How>> all(std::begin(hows), std::end(hows));
  return schema.choice("how", &Options::how, all, "how")
      .option("where", &Options::where, "in which call")
      .option("step", &Options::step, "in which step; -1: in each")
      .option("who", &Options::who, "all, leader or worker");
}

} // namespace
