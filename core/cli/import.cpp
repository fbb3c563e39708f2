// dlhost import: makes a run without steps from foreign params.
#include <filesystem>

#include <fmt/format.h>

#include "cli/job_file.h"
#include "cli/names.h"
#include "config/dump.h"
#include "env/printable.h"
#include "env/process/process.h"
#include "record/run_folder.h"
#include "run/coordinator/training.h"
#include "run/input/inputs.h"

namespace dlhost::cli {
namespace {

struct ImportOptions {
  std::string file, job, folder;
  std::vector<std::string> set;
  NameOptions names;
};

Status import_params(Context& context, const ImportOptions& options) {
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(auto job, load_job(context, options.job, options.set, run::Purpose::reading));
  const std::string here = env::working_folder();
  job.train.start = {};
  const std::string kept = config::to_toml(job, here); // a run from this checkpoint no longer needs the file
  job.topology = {};                                   // one worker takes the params, for any number of later workers
  job.train.last = config::Last::partial;              // no step is made: samples need not fill a batch
  job.train.start.from = (std::filesystem::path(here) / options.file).string();
  job.places["train.init_from"] = {}; // the file was named on the command line
  DLHOST_ASSIGN(job.train.start.names, names_of(disk, options.names));
  DLHOST_ASSIGN(auto session, run::Session::open(context.host, context.registry(), job, run::Purpose::reading));
  DLHOST_TRY(run::check_classes(*session, {}));
  const std::atomic<bool> interrupted{false};
  run::Training training(*session, interrupted);
  DLHOST_TRY(training.prepare());
  DLHOST_ASSIGN(const auto taken, training.start());
  DLHOST_ASSIGN(const auto folder, record::RunFolder::make_at(context.host, options.folder));
  DLHOST_TRY(folder.write_job(kept));
  run::Checkpoints checkpoints(*session, folder.file("checkpoints"), 1);
  training.keep_in(&checkpoints);
  DLHOST_TRY(training.save());
  fmt::print("{}\n{} is a run of '{}' that has made no step yet:\n", param::to_string(*taken), folder.path(),
             env::printable(job.name, env::longest_foreign_text));
  fmt::print("  dlhost eval {0}\n  dlhost run --resume {0}\n", folder.path());
  return {};
}

} // namespace

void add_import(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("import", "take params from a safetensors or npz file into a run of a job");
  auto options = std::make_shared<ImportOptions>();
  command->add_option("file", options->file, "a .safetensors or .npz file, or another run")
      ->required()
      ->type_name("FILE");
  command->add_option("--job", options->job, "the net that takes them")->required()->type_name("JOB.toml");
  command->add_option("-o,--output", options->folder, "the run's folder: new, or empty")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--set", options->set, "change one key of the job")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_names(*command, options->names);
  command->footer(
      "A param that is not in the file, nor named by --except, is an error. So is a tensor of the file that the net\n"
      "does not have, unless --unused names it. The error lists them.\n"
      "The folder can be evaluated, used by predict, and trained on.\n\n"
      "Examples:\n"
      "  dlhost import digits.npz --job job.toml -o taken\n"
      "  dlhost run --resume taken");
  command->callback([&context, options] {
    if (Status status = import_params(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
