#include "cli/opened.h"

#include "cli/job_file.h"
#include "cli/run_named.h"
#include "record/run_folder.h"

namespace dlhost::cli {
// It lies in the run's folder, two above a checkpoint: RUN/checkpoints/step-000000100.
Result<std::string> job_of(Disk& disk, const std::string& run) {
  for (const char* up : {"", "/..", "/../.."})
    if (auto path = record::RunFolder::job_in(disk, run + up); !path.empty()) return path;
  return Status::not_found("there is no job.toml in '", run,
                           "', nor two folders above it, where a checkpoint's run has one: name the job (--job)");
}

void add_run_choice(CLI::App& command, RunChoice& choice) {
  add_run_named(command, choice.run, ", one checkpoint in it");
  command.add_option("--job", choice.job, "the job, when it is not the one that the run kept")->type_name("JOB.toml");
  command.add_option("--set", choice.set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_last(command, choice.last);
}

void add_last(CLI::App& command, bool& last) {
  command.add_flag("--last", last, "the newest checkpoint, also where the best by validation is kept");
}

Result<param::CheckpointFiles> checkpoint_named(Host& host, const std::string& run, bool last) {
  return last ? run::Checkpoints::find(host, run) : run::Checkpoints::find_best(host, run);
}

Result<std::unique_ptr<OpenedRun>> open_run(Context& context, const RunChoice& choice, const Overrides& more) {
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(const std::string run, run_named(disk, choice.run));
  auto opened = std::make_unique<OpenedRun>();
  DLHOST_ASSIGN(opened->checkpoint, checkpoint_named(context.host, run, choice.last));
  std::string path = choice.job;
  if (path.empty()) {
    DLHOST_ASSIGN(path, job_of(disk, run));
  }
  auto set = choice.set;
  DLHOST_ASSIGN(opened->job, load_job(context, path, set, run::Purpose::reading));
  if (more) {
    DLHOST_ASSIGN(const auto others, more(opened->job));
    set.insert(set.end(), others.begin(), others.end());
    if (!others.empty()) {
      DLHOST_ASSIGN(opened->job, load_job(context, path, set, run::Purpose::reading));
    }
  }
  DLHOST_ASSIGN(opened->session,
                run::Session::open(context.host, context.registry(), opened->job, run::Purpose::reading));
  return opened;
}

} // namespace dlhost::cli
