// dlhost stop and dlhost kill: to end a run from elsewhere, and one of its workers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/leader.h"
#include "env/process.h"

namespace dlhost::cli {
namespace {

struct StopOptions {
  std::string run;
  double wait = 60; // seconds
};

struct KillOptions {
  std::string run;
  std::size_t rank = 0;
};

// Of its summary; "running" as long as none leads it to its end.
std::string status_of(Disk& disk, const std::string& run) {
  const auto text = disk.read_text(run + "/summary.json");
  const auto json = nlohmann::json::parse(text.ok() ? *text : "", nullptr, false);
  return json.is_object() ? json.value("status", "running") : "running";
}

Status stop(Context& context, const StopOptions& options) {
  constexpr Nanoseconds pause = 20'000'000;
  DLHOST_ASSIGN(const auto leader, leader_of(context, options.run));
  if (!env::ask_to_end(leader.process)) return Status::io("process ", leader.process, " is not yours to stop");
  Clock& clock = context.host.clock();
  const Nanoseconds end = clock.now() + static_cast<Nanoseconds>(options.wait * 1e9);
  while (clock.now() < end) {
    DLHOST_ASSIGN(const bool led, run::Leadership::led(options.run));
    const std::string status = status_of(context.host.disk(), options.run);
    if (!led && status == "interrupted") {
      fmt::print("{} has saved and ended; dlhost run --resume {} goes on with it\n", options.run, options.run);
      return {};
    }
    if (!led && status == "done") {
      fmt::print("{} was done before it could be stopped\n", options.run);
      return {};
    }
    if (!led && status != "running")
      return Status::gone("the run in '", options.run, "' has ended otherwise: ", status);
    clock.sleep(pause);
  }
  return Status::timeout("process ", leader.process, " was asked to save and end, and has not within ", options.wait,
                         " s: it may be in a long step (--wait SECONDS), or hang (dlhost kill ", options.run, " 0)");
}

Status kill(Context& context, const KillOptions& options) {
  DLHOST_ASSIGN(const auto leader, leader_of(context, options.run));
  if (options.rank > leader.workers.size())
    return Status::invalid("the run in '", options.run, "' has no worker ", options.rank,
                           leader.workers.empty() ? "; it is one process, 0"
                                                  : concat("; its processes are 0 to ", leader.workers.size()));
  const int process = options.rank == 0 ? leader.process : leader.workers[options.rank - 1];
  if (options.rank > 0 && !env::is_child_of(process, leader.process))
    return Status::gone("worker ", options.rank, ", process ", process, ", is gone; the run may be starting it anew");
  if (!env::kill(process)) return Status::io("process ", process, " is gone, or not yours to kill");
  fmt::print("killed worker {}, process {}\n", options.rank, process);
  return {};
}

} // namespace

void add_stop(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("stop", "let a run save and end");
  auto options = std::make_shared<StopOptions>();
  command->add_option("run", options->run, "its folder")->required()->type_name("RUN");
  command->add_option("--wait", options->wait, "how long to wait for its end")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  command->footer("As Ctrl-C does where it runs: it finishes its step, writes a checkpoint and ends.\n\n"
                  "Example:\n"
                  "  dlhost stop runs/digits-...");
  command->callback([&context, options] {
    if (Status status = stop(context, *options); !status.ok()) context.fail(status);
  });
}

void add_kill(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("kill", "end one worker of a run at once");
  auto options = std::make_shared<KillOptions>();
  command->add_option("run", options->run, "the run's folder")->required()->type_name("RUN");
  command->add_option("rank", options->rank, "which worker; 0 leads the run")->required()->type_name("RANK");
  command->footer("The run goes on where it was last whole ([recovery] in the job): to see that it does, or to have a\n"
                  "worker that hangs started anew.\n\n"
                  "Example:\n"
                  "  dlhost kill runs/digits-... 2");
  command->callback([&context, options] {
    if (Status status = kill(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
