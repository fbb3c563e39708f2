#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/job_file.h"
#include "env/launched.h"
#include "env/process.h"
#include "run/leadership.h"
#include "run/meeting_folder.h"
#include "run/process_crew.h"

namespace dlhost::cli {
namespace {

struct WorkerOptions {
  std::string folder;
  std::uint32_t seat = 0;
  int leader = 0;
};

// Of those that survive their leader one takes its place: who holds the run's lock first, and keeps it. The others
// stand by until it has workers again, for it may die as well: to them nothing is handed over.
Result<std::optional<run::Leadership>> succeed(Context& context, const std::string& run, int dead) {
  constexpr Nanoseconds pause = 20'000'000, longest = 600'000'000'000;
  Disk& disk = context.host.disk();
  Clock& clock = context.host.clock();
  for (const Nanoseconds end = clock.now() + longest; clock.now() < end; clock.sleep(pause)) {
    auto leadership = run::Leadership::take(disk, run, env::host_name());
    if (leadership.ok()) return std::optional(*std::move(leadership));
    if (leadership.status().code() != Code::exists) return leadership.status();
    const auto now = run::Leadership::told(disk, run);
    if (now.ok() && now->process != dead && !now->workers.empty()) return std::optional<run::Leadership>();
  }
  return Status::timeout("the run in ", run, " has a new leader, which has not begun");
}

// Where nothing outlives the dead, the run goes on from the newest point there is.
void salvage(Context& context, const std::string& run, const std::vector<run::Located>& workers,
             run::Follower& follower) {
  const Status status = follower.salvage(run, [&](std::uint32_t seat) {
    if (seat > 0 && seat <= workers.size()) env::kill(workers[seat - 1].process);
  });
  if (!status.ok() && status.code() != Code::not_found)
    context.host.log().write(LogLevel::warning, concat("what outlived the leader is lost: ", status.message()));
}

Status lead(Context& context, const std::string& run, run::Leadership leadership) {
  DLHOST_ASSIGN(const int lock, leadership.hand_over());
  std::vector<std::string> arguments;
  for (const auto& folder : context.plugin_dirs) arguments.insert(arguments.end(), {"--plugin-dir", folder});
  arguments.insert(arguments.end(), {"run", "--resume", run, "--take-over", concat(lock)});
  return env::become_own(arguments, run + "/output.log");
}

Status work(Context& context, const WorkerOptions& options) {
  env::ignore_interrupts(); // the leader says when it is over
  DLHOST_ASSIGN(const auto job, load_job(context, run::MeetingFolder::job_in(options.folder), {}));
  std::string orphaned;
  std::optional<run::Leadership> leadership;
  DLHOST_TRY(run::ProcessCrew::work(context.host, context.registry(), job, options.folder, options.seat, options.leader,
                                    [&](const std::string& run, run::Follower* follower) -> Status {
                                      DLHOST_ASSIGN(const auto before, run::Leadership::told(context.host.disk(), run));
                                      DLHOST_ASSIGN(leadership, succeed(context, run, options.leader));
                                      orphaned = run;
                                      if (leadership && follower) salvage(context, run, before.workers, *follower);
                                      return {};
                                    }));
  return leadership ? lead(context, orphaned, *std::move(leadership)) : Status();
}

} // namespace

// Started by a run with run_as = "processes", and by nobody else.
void add_worker(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("worker", "one worker of a run that is several processes; the run starts it");
  command->group("");
  auto options = std::make_shared<WorkerOptions>();
  command->add_option("folder", options->folder, "where the run's workers meet")->required();
  command->add_option("seat", options->seat, "which of them this is")->required();
  command->add_option("leader", options->leader, "the number of the process that started it")->required();
  command->callback([&context, options] {
    if (const Status status = work(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
