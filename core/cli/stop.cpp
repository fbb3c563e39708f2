// dlhost stop and dlhost kill: to end a run from elsewhere, and one of its workers.
#include <fmt/format.h>

#include "cli/run/leader.h"
#include "cli/run_named.h"
#include "env/process/process.h"
#include "record/summary.h"
#include "run/coordinator/steering.h"

namespace dlhost::cli {
namespace {

struct StopOptions {
  std::string run;
  double wait = 60; // seconds
};

struct KillOptions {
  std::string run;
  std::uint32_t rank = 0;
};

Status stop(Context& context, StopOptions options) {
  constexpr Nanoseconds pause = 20'000'000;
  DLHOST_ASSIGN(options.run, run_named(context.host.disk(), options.run));
  DLHOST_ASSIGN(const Led led, leader_of(context, options.run));
  run::Steering steering(context.host.disk(), options.run);
  if (!led.here)
    DLHOST_TRY(steering.wish({}));
  else if (!env::ask_to_end(led.by.process))
    return Status::io("process ", led.by.process, " is not yours to stop");
  Clock& clock = context.host.clock();
  const Nanoseconds end = clock.now() + static_cast<Nanoseconds>(options.wait * 1e9);
  while (clock.now() < end) {
    DLHOST_ASSIGN(const bool goes_on, run::Leadership::led(options.run));
    const std::string status = record::status_told(context.host.disk(), options.run);
    if (!goes_on) steering.forget();
    if (!goes_on && status == "interrupted") {
      fmt::print("{} has saved and ended; dlhost run --resume {} continues it\n", options.run, options.run);
      return {};
    }
    if (!goes_on && status == "done") {
      fmt::print("{} was done before it could be stopped\n", options.run);
      return {};
    }
    if (!goes_on && status != "running")
      return Status::gone("the run in '", options.run, "' has ended otherwise: ", status);
    clock.sleep(pause);
  }
  steering.forget();
  return Status::timeout("process ", led.by.process, " of ", led.by.host,
                         " was asked to save and end, and has not within ", options.wait,
                         " s: it may be in a long step (--wait SECONDS), or hang (dlhost kill ", options.run, " 0)");
}

// Who leads does it. A leader that is itself the one answers nothing.
Status have_killed(Context& context, const KillOptions& options, const run::Leader& leader) {
  constexpr Nanoseconds pause = 20'000'000, longest = 30'000'000'000;
  run::Steering steering(context.host.disk(), options.run);
  DLHOST_TRY(steering.wish({.kill = options.rank}));
  Clock& clock = context.host.clock();
  for (const Nanoseconds end = clock.now() + longest; clock.now() < end; clock.sleep(pause)) {
    DLHOST_ASSIGN(const auto answer, steering.answer());
    if (answer) return *answer;
    if (options.rank == 0 && steering.is_taken()) return {};
  }
  steering.forget();
  return Status::timeout("the run's leader, process ", leader.process, " of ", leader.host,
                         ", has not answered within ", longest / 1'000'000'000,
                         " s: it may hang, or be beginning once more");
}

Status kill(Context& context, KillOptions options) {
  DLHOST_ASSIGN(options.run, run_named(context.host.disk(), options.run));
  DLHOST_ASSIGN(const Led led, leader_of(context, options.run));
  const auto& workers = led.by.workers;
  if (options.rank > workers.size())
    return Status::invalid("the run in '", options.run, "' has no worker ", options.rank,
                           workers.empty() ? "; it is one process, 0"
                                           : concat("; its processes are 0 to ", workers.size()));
  const run::RunProcess which =
      options.rank == 0 ? run::RunProcess{led.by.host, led.by.process} : workers[options.rank - 1];
  if (led.here && (options.rank == 0 || env::is_child_of(which.process, led.by.process))) {
    if (!env::kill(which.process)) return Status::io("process ", which.process, " is gone, or not yours to kill");
  } else {
    DLHOST_TRY(have_killed(context, options, led.by));
  }
  fmt::print("killed worker {}, process {} of {}\n", options.rank, which.process, which.host);
  return {};
}

} // namespace

void add_stop(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("stop", "let a run save and end");
  auto options = std::make_shared<StopOptions>();
  add_run_named(*command, options->run);
  command->add_option("--wait", options->wait, "how long to wait for its end")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  command->footer(
      "As Ctrl-C does where it runs: it finishes its step, writes a checkpoint and ends. From another machine\n"
      "than its leader's it needs the run's folder on a file system that both share.\n\n"
      "Example:\n"
      "  dlhost stop runs/digits-...");
  command->callback([&context, options] {
    if (Status status = stop(context, *options); !status.ok()) context.fail(status);
  });
}

void add_kill(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("kill", "end one worker of a run at once");
  auto options = std::make_shared<KillOptions>();
  add_run_named(*command, options->run)->required();
  command->add_option("rank", options->rank, "which worker; 0 leads the run")->required()->type_name("RANK");
  command->footer("The run goes on where it was last whole ([recovery] in the job): to see that it does, or to have a\n"
                  "worker that hangs started anew. The worker may be on any machine; the run's folder "
                  "is needed here.\n\n"
                  "Example:\n"
                  "  dlhost kill runs/digits-... 2");
  command->callback([&context, options] {
    if (Status status = kill(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
