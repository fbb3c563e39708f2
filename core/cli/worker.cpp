#include <memory>

#include "cli/command.h"
#include "cli/job_file.h"
#include "env/process.h"
#include "run/process_crew.h"

namespace dlhost::cli {
namespace {

struct WorkerOptions {
  std::string folder;
  std::uint32_t seat = 0;
  int leader = 0;
};

Status work(Context& context, const WorkerOptions& options) {
  env::ignore_interrupts(); // the leader says when it is over
  DLHOST_ASSIGN(const auto job, load_job(context, run::ProcessCrew::job_in(options.folder), {}));
  return run::ProcessCrew::work(context.host, context.registry(), job, options.folder, options.seat, options.leader);
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
