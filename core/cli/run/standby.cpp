// The leader's standby: waits for the leader's end, and takes over if it was killed.
#include "cli/run/succession.h"
#include "env/process/lifeline.h"
#include "env/process/process.h"
#include "env/process/processes.h"
#include "run/recovery/succession.h"

namespace dlhost::cli {
namespace {

struct StandbyOptions {
  std::string run;
  int leader = 0;
};

Status stand_by(Context& context, const StandbyOptions& options) {
  constexpr Nanoseconds pause = 3600'000'000'000;
  env::ignore_interrupts(); // the leader says when the run is over
  env::Watcher leader;
  DLHOST_TRY(leader.say_that_it_watches());
  std::optional<env::Watcher::End> end;
  while (!end) end = leader.await_end(pause);
  if (*end == env::Watcher::End::in_order) return {};
  env::RealProcesses processes;
  run::let_workers_go_first(context.host, processes, options.run, options.leader);
  DLHOST_ASSIGN(auto succession, succeed(context, options.run, options.leader));
  return succession ? lead_instead(context, options.run, *std::move(succession)) : Status();
}

} // namespace

// Only a run with run_as = "processes" starts it.
void add_standby(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("standby", "stands by for the leader of a run; the run starts it");
  command->group("");
  auto options = std::make_shared<StandbyOptions>();
  command->add_option("run", options->run, "the run's folder")->required();
  command->add_option("leader", options->leader, "the number of the process that leads it")->required();
  command->callback([&context, options] {
    if (const Status status = stand_by(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
