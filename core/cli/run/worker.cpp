#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/job_file.h"
#include "cli/run/succession.h"
#include "env/process/process.h"
#include "env/process/processes.h"
#include "run/coordinator/process_pool.h"
#include "run/membership/meeting_folder.h"
#include "run/recovery/leadership.h"

namespace dlhost::cli {
namespace {

struct WorkerOptions {
  std::string folder;
  std::uint32_t seat = 0;
  int leader = 0;
  std::uint32_t joins = 0;
};

// Salvages the newest versions after the leader's death; without any, the run continues from its newest point.
void salvage(Context& context, const std::string& run, const std::vector<run::RunProcess>& workers,
             run::Follower& follower) {
  const Status status = follower.salvage(run, [&](std::uint32_t seat) {
    if (seat > 0 && seat <= workers.size()) env::kill(workers[seat - 1].process);
  });
  if (!status.ok() && status.code() != Code::not_found)
    context.host.log().write(LogLevel::warning,
                             concat("the state that outlived the leader is lost: ", status.message()));
}

Status work(Context& context, const WorkerOptions& options) {
  env::ignore_interrupts(); // the leader says when the run is over
  DLHOST_ASSIGN(const auto job, load_job(context, run::MeetingFolder::job_in(options.folder), {}));
  std::string orphaned;
  std::optional<Succession> succession;
  DLHOST_TRY(run::ProcessPool::work(context.host, context.registry(), job, options.folder, options.seat, options.leader,
                                    options.joins,
                                    [&](const std::string& run, int dead, run::Follower* follower) -> Status {
                                      DLHOST_ASSIGN(const auto before, run::Leadership::told(context.host.disk(), run));
                                      DLHOST_ASSIGN(succession, succeed(context, run, dead));
                                      orphaned = run;
                                      env::RealProcesses processes;
                                      const bool others_go_on = before.going_on.any(processes);
                                      if (succession && follower && !others_go_on)
                                        salvage(context, run, before.workers, *follower);
                                      return {};
                                    }));
  return succession ? lead_instead(context, orphaned, *std::move(succession)) : Status();
}

} // namespace

// Only a run with run_as = "processes" starts it.
void add_worker(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("worker", "one worker of a run that is several processes; the run starts it");
  command->group("");
  auto options = std::make_shared<WorkerOptions>();
  command->add_option("folder", options->folder, "where the run's workers meet")->required();
  command->add_option("seat", options->seat, "which of them this is")->required();
  command->add_option("leader", options->leader, "the number of the process that started it")->required();
  command->add_option("joins", options->joins, "the number of the group that it joins a run with that goes on");
  command->callback([&context, options] {
    if (const Status status = work(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
