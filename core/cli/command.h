// The shared context of all commands. A command is one file with one add_ function, which declares its options and its
// callback; main.cpp lists them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <dlhost/status.h>

#include "env/real_host.h"
#include "plugin/registry.h"

namespace dlhost::cli {

// Prints an error to standard error.
void say(const std::string& error);

// The shared state of commands. The registry searches on first use, so that commands without plugins start at once.
class Context {
 public:
  env::RealHost host{LogLevel::warning};
  std::vector<std::string> plugin_dirs;
  bool verbose = false; // shows log lines from level info on
  plugin::Registry& registry();

  // The exit status of the process; set by the command that runs.
  int exit_code = 0;
  // Prints the error, writes it to the run's log, and sets the exit code.
  void fail(const Status&);

 private:
  std::unique_ptr<plugin::Registry> registry_;
};

// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the training diverged, 70 a plugin hung or ended the process
// (plugin/faults.h), 130 interrupted.
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_diverged = 3;
inline constexpr int exit_interrupted = 130;
inline constexpr const char* exit_statuses =
    "0 done, 1 failed, 2 wrong usage, 3 the training diverged, 70 a plugin hung or ended the process, 130 interrupted.";

void add_run(CLI::App&, Context&);
void add_launch(CLI::App&, Context&);
void add_bench(CLI::App&, Context&);
void add_check(CLI::App&, Context&);
void add_evaluate(CLI::App&, Context&);
void add_predict(CLI::App&, Context&);
void add_examples(CLI::App&, Context&);
void add_export(CLI::App&, Context&);
void add_import(CLI::App&, Context&);
void add_ps(CLI::App&, Context&);
void add_top(CLI::App&, Context&);
void add_scale(CLI::App&, Context&);
void add_save(CLI::App&, Context&);
void add_stop(CLI::App&, Context&);
void add_kill(CLI::App&, Context&);
void add_manual(CLI::App&, Context&);
void add_complete(CLI::App&, Context&);
void add_conform(CLI::App&, Context&);
void add_worker(CLI::App&, Context&);
void add_standby(CLI::App&, Context&);

} // namespace dlhost::cli
