// dlhost launch: a run on several hosts.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/run/run_request.h"
#include "env/process/interrupt.h"
#include "env/process/launched.h"
#include "env/process/process.h"
#include "env/process/write_signals.h"
#include "run/membership/launcher.h"

namespace dlhost::cli {
namespace {

struct LaunchOptions {
  RunRequest asked;
  std::string hosts, shell, listen, program;
};

// As the other hosts reach this one.
Result<std::string> place_of(const std::vector<run::Launch::On>& hosts) {
  const auto elsewhere = std::ranges::find_if_not(hosts, env::is_this_machine, &run::Launch::On::host);
  if (elsewhere == hosts.end()) return std::string("127.0.0.1:0");
  auto address = env::own_address_towards(elsewhere->host);
  if (address.ok()) return *address + ":0";
  return std::move(address).status().at("give --listen, an address of this machine that all hosts reach");
}

Result<run::Launch> planned(Context& context, const LaunchOptions& options) {
  run::Launch launch{.shell = options.shell, .folder = env::working_folder(), .program = options.program};
  DLHOST_ASSIGN(launch.hosts, run::hosts_named(options.hosts));
  if (launch.program.empty()) launch.program = env::own_program();
  launch.listen = options.listen;
  if (launch.listen.empty()) {
    DLHOST_ASSIGN(launch.listen, place_of(launch.hosts));
  } else if (launch.listen.find(':') == std::string::npos) {
    launch.listen += ":0";
  }
  if (const char* path = std::getenv("DLHOST_PLUGIN_PATH"))
    launch.environment.push_back(concat("DLHOST_PLUGIN_PATH=", path));
  for (const auto& folder : context.plugin_dirs)
    launch.arguments.insert(launch.arguments.end(), {"--plugin-dir", folder});
  const auto& [job, resume, set, profile, accepts_data, verifies_data, goes_on] = options.asked;
  if (!job.empty()) launch.of_leader.push_back(job);
  if (!resume.empty()) launch.of_leader.insert(launch.of_leader.end(), {"--resume", resume});
  for (const auto& one : set) launch.of_leader.push_back("--set=" + one);
  if (profile) launch.of_leader.push_back("--profile");
  if (accepts_data) launch.of_leader.push_back("--accept-data");
  if (verifies_data) launch.of_leader.push_back("--verify");
  if (goes_on) launch.of_leader.push_back("--continue");
  return launch;
}

Result<int> launch(Context& context, const LaunchOptions& options) {
  DLHOST_ASSIGN(auto launch, planned(context, options));
  return run::Launcher(context.host, context.registry(), std::move(launch), env::interrupted()).run();
}

} // namespace

void add_launch(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("launch", "train a job on several hosts, which are reached by ssh");
  auto options = std::make_shared<LaunchOptions>();
  add_asked_options(*command, options->asked, " of the first host");
  command
      ->add_option("--hosts", options->hosts,
                   "where the run's processes are started, the first of which leads it; HOST:N starts N")
      ->type_name("A,B:2,C")
      ->required();
  command
      ->add_option("--shell", options->shell,
                   "what runs a line on a host: a command, as a shell here reads it, which is called with the host's "
                   "name and the line (ssh -o BatchMode=yes; "
                   "this machine's own processes are started without it)")
      ->type_name("COMMAND");
  command
      ->add_option("--listen", options->listen,
                   "where the processes meet: an address of this machine that all hosts reach (the one that leads to "
                   "the first of them)")
      ->type_name("ADDRESS[:PORT]");
  command->add_option("--program", options->program, "dlhost on the hosts (where it lies here)")->type_name("FILE");
  command->footer(
      "Each process begins in this folder, which every host has to have, and so it has to have dlhost and what the "
      "job\n"
      "reads. What the first host's process says comes out as it is; lines of the others begin with their host. "
      "Ctrl-C\n"
      "saves a checkpoint there and ends all of them. The workers are shared out among the processes, in their order;\n"
      "topology.network says where they listen for one another.\n\n"
      "Examples:\n"
      "  dlhost launch --hosts a,b,c job.toml --set topology.workers=3\n"
      "  dlhost launch --hosts localhost:2 job.toml\n"
      "  dlhost launch --hosts a,b,c --resume runs/digits-...");
  command->callback([&context, options] {
    if (options->asked.is_nothing()) tell_that_nothing_is_asked();
    env::catch_interrupts("\ndlhost: saving after this step, then it ends; Ctrl-C again ends it at once\n");
    env::outlive_readers();
    const auto status = launch(context, *options);
    if (status.ok())
      context.exit_code = *status;
    else
      context.fail(status.status());
  });
}

} // namespace dlhost::cli
