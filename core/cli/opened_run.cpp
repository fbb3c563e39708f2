#include "cli/opened_run.h"

#include <nlohmann/json.hpp>

#include "cli/job_file.h"
#include "cli/run_named.h"
#include "record/run_folder.h"
#include "run/input/inputs.h"

namespace dlhost::cli {
void add_run_choice(CLI::App& command, RunChoice& choice) {
  add_run_named(command, choice.run, ", one checkpoint in it");
  command.add_option("--job", choice.job, "the job, when it is not the one that the run kept")->type_name("JOB.toml");
  command.add_option("--set", choice.set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_params_choice(command, choice.params);
}

void add_params_choice(CLI::App& command, ParamsChoice& choice) {
  command.add_flag("--last", choice.last, "the newest checkpoint, even if the best by validation is kept");
  command.add_flag("--averaged", choice.averaged, "the params' averages, of a job with updater.average");
}

Result<param::CheckpointFiles> checkpoint_named(Host& host, const std::string& run, const ParamsChoice& choice) {
  DLHOST_ASSIGN(auto files, choice.last ? run::Checkpoints::find(host, run) : run::Checkpoints::find_best(host, run));
  if (choice.averaged) DLHOST_TRY(param::use_averages(files));
  return files;
}

Result<std::unique_ptr<OpenedRun>> open_run(Context& context, const RunChoice& choice, const Overrides& more) {
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(const std::string run, run_named(disk, choice.run));
  auto opened = std::make_unique<OpenedRun>();
  DLHOST_ASSIGN(opened->checkpoint, checkpoint_named(context.host, run, choice.params));
  std::string path = choice.job;
  if (path.empty()) {
    DLHOST_ASSIGN(path, record::RunFolder::job_above(disk, run, "name the job (--job)"));
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
  const auto& about = opened->checkpoint.manifest->at("run");
  const auto known =
      run::inputs_of(about.is_object() ? about.value("inputs", nlohmann::json()) : nlohmann::json(), run);
  DLHOST_TRY(run::check_classes(*opened->session, known.ok() ? *known : run::Inputs()));
  return opened;
}

} // namespace dlhost::cli
