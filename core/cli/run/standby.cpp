// The leader's standby: waits for its end, and takes its place should it be killed.
#include <algorithm>

#include "cli/run/succession.h"
#include "env/process/lifeline.h"
#include "env/process/process.h"

namespace dlhost::cli {
namespace {

struct StandbyOptions {
  std::string run;
  int leader = 0;
};

// Workers go first: they may have what servers made since the last point. Whether the lock is held says nothing yet:
// the leader may still be about to end.
void let_workers_go_first(Context& context, const std::string& run, int dead) {
  constexpr Nanoseconds pause = 10'000'000, longest = 10'000'000'000;
  const auto before = run::Leadership::told(context.host.disk(), run);
  if (!before.ok()) return;
  Clock& clock = context.host.clock();
  const auto lives = [](const run::RunProcess& worker) { return env::runs(worker.process); };
  for (const Nanoseconds end = clock.now() + longest; clock.now() < end; clock.sleep(pause)) {
    const auto now = run::Leadership::told(context.host.disk(), run);
    if (!now.ok() || now->process != dead || std::ranges::none_of(before->workers, lives)) return;
  }
}

Status stand_by(Context& context, const StandbyOptions& options) {
  constexpr Nanoseconds pause = 3600'000'000'000;
  env::ignore_interrupts(); // the leader says when it is over
  env::Watcher leader;
  DLHOST_TRY(leader.say_that_it_watches());
  std::optional<env::Watcher::End> end;
  while (!end) end = leader.await_end(pause);
  if (*end == env::Watcher::End::in_order) return {};
  let_workers_go_first(context, options.run, options.leader);
  DLHOST_ASSIGN(auto succession, succeed(context, options.run, options.leader));
  return succession ? lead_instead(context, options.run, *std::move(succession)) : Status();
}

} // namespace

// Started by a run with run_as = "processes", and by nobody else.
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
