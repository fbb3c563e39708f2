// dlhost run: trains the job.
#include <filesystem>

#include <fmt/format.h>

#include "cli/job_file.h"
#include "cli/opened.h"
#include "cli/run_summary.h"
#include "config/dump.h"
#include "env/interrupt.h"
#include "env/terminal.h"
#include "env/write_signals.h"
#include "record/profile.h"
#include "record/run_folder.h"
#include "record/trace.h"
#include "run/peak.h"
#include "run/recorder.h"

namespace dlhost::cli {
namespace {

struct RunOptions {
  std::string job;
  std::vector<std::string> set;
  std::string resume;
  bool profile = false;
};

// A resumed run goes on in its own folder.
Result<record::RunFolder> folder_of(Context& context, const config::Job& job, const std::string& resume) {
  if (!resume.empty() && context.host.disk().exists(resume + "/checkpoints"))
    return record::RunFolder::open(context.host, resume);
  return record::RunFolder::make(context.host, job.record.folder.empty() ? "runs" : job.record.folder, job.name);
}

std::string checkpoint_folder(const config::Job& job, const record::RunFolder& folder) {
  return job.checkpoint.folder.empty() ? folder.file("checkpoints") : job.checkpoint.folder;
}

// Where the time of a step went: on the terminal, as profile.json and as a trace in the run's folder.
Status write_profile(Context& context, run::Session& session, const run::Training& training,
                     const record::RunFolder& folder, const run::Outcome& outcome, std::uint64_t steps) {
  record::Profile profile;
  profile.steps = steps;
  profile.seconds = outcome.seconds;
  profile.rows.push_back({"input", "", "waiting", outcome.load_seconds, steps, 0, 0});
  for (const auto& timing : training.program().timings())
    profile.rows.push_back({timing.what, timing.type, timing.direction, timing.seconds, timing.calls,
                            timing.operations * static_cast<double>(timing.calls),
                            timing.bytes * static_cast<double>(timing.calls)});
  DLHOST_ASSIGN(profile.peak_operations, run::measure_peak(session.device(), session.stream(), session.host().clock(),
                                                           session.job().train.dtype));
  Disk& disk = context.host.disk();
  DLHOST_TRY(disk.write_text(folder.file("profile.json"), record::profile_json(profile)));
  const std::vector<std::string> tracks{"worker 0, the mean step"};
  DLHOST_TRY(record::write_trace(disk, folder.file("trace.json"), record::mean_step(profile), tracks));
  fmt::print("{}\nprofile.json and trace.json (for ui.perfetto.dev) are in {}\n", record::profile_table(profile),
             folder.path());
  return {};
}

// Trains, and writes down all that is to be known of it; the status is that of the training.
Status record_training(Context& context, const RunOptions& options, env::StandardTerminal& terminal,
                       run::Session& session, run::Training& training, const record::RunFolder& folder,
                       record::Summary& summary) {
  record::Progress progress(context.host.clock(), terminal);
  const config::Job& job = session.job();
  run::Checkpoints checkpoints(session, checkpoint_folder(job, folder));
  if (job.checkpoint.keep > 0) training.save_to(&checkpoints);
  const std::uint64_t first_step = training.progress().step;
  DLHOST_ASSIGN(auto log, record::MetricsLog::open(context.host, folder,
                                                   {.tensorboard = job.record.tensorboard,
                                                    .resumed = !options.resume.empty(),
                                                    .resumed_from = first_step}));
  run::Recorder recorder(progress, *log, job.record.every, training.progress());
  if (options.profile) training.program().measure(&context.host.clock());
  const run::Outcome outcome = training.run(recorder);
  const auto last = recorder.finish(training.progress(), training.program());
  add_end(summary, context, session, outcome);
  if (last.ok()) summary.train.assign(last->metrics.begin(), last->metrics.end());
  DLHOST_TRY(outcome.error);
  DLHOST_TRY(last.status());
  DLHOST_TRY(log->sync());
  DLHOST_TRY(record::write_summary(context.host.disk(), folder, summary));
  terminal.write(record::summary_table(summary, terminal.unicode()));
  if (options.profile)
    DLHOST_TRY(write_profile(context, session, training, folder, outcome, outcome.progress.step - first_step));
  if (outcome.ending == run::Ending::diverged) context.exit_code = exit_diverged;
  if (outcome.ending == run::Ending::interrupted) context.exit_code = exit_interrupted;
  return {};
}

// The folder is made when all is ready for the first step: what is wrong before leaves none.
Status run_job(Context& context, const RunOptions& options) {
  Disk& disk = context.host.disk();
  std::optional<param::CheckpointFiles> from;
  std::string job_file = options.job;
  if (!options.resume.empty()) {
    DLHOST_ASSIGN(from, run::Checkpoints::find(disk, options.resume));
    if (job_file.empty()) {
      DLHOST_ASSIGN(job_file, job_of(disk, options.resume));
    }
  }
  DLHOST_ASSIGN(const auto job, load_job(context, job_file, options.set));
  DLHOST_ASSIGN(auto session, run::Session::open(context.host, context.registry(), job));
  env::StandardTerminal terminal(1);
  run::Training training(*session, env::interrupted());
  DLHOST_TRY(training.prepare());
  if (from) {
    DLHOST_TRY(training.resume(*from));
  } else {
    DLHOST_ASSIGN(const auto taken, training.start());
    if (taken) terminal.write(param::to_string(*taken) + "\n");
  }
  DLHOST_ASSIGN(auto folder, folder_of(context, job, options.resume));
  DLHOST_TRY(folder.write_job(config::to_toml(job, std::filesystem::current_path().string())));
  auto summary = summary_of_start(*session, folder);
  summary.steps = training.progress().step;
  DLHOST_TRY(record::write_summary(disk, folder, summary));
  Status status = record_training(context, options, terminal, *session, training, folder, summary);
  if (status.ok()) return status;
  summary.status = "failed";
  summary.reason = status.message();
  record::write_summary(disk, folder, summary).ignore("what ended the run is what has to be told");
  summary.reason.clear(); // it is told below the table
  terminal.write(record::summary_table(summary, terminal.unicode()));
  return status;
}

} // namespace

void add_run(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("run", "train a job");
  auto options = std::make_shared<RunOptions>();
  command->add_option("job", options->job, "the job file; with --resume it may be left out: then it is the run's own")
      ->type_name("JOB.toml");
  command->add_option("--set", options->set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--resume", options->resume,
                   "go on from a run's folder, or from one checkpoint, as if it had never stopped")
      ->type_name("FOLDER");
  command->add_flag("--profile", options->profile, "print where the time of a step goes, and write a trace");
  command->footer(
      "Each run leaves its results in a folder of its own: runs/NAME-..., with the job, summary.json, metrics.jsonl,\n"
      "TensorBoard events and checkpoints. Ctrl-C saves a checkpoint and ends; twice ends at once.\n\n"
      "Examples:\n"
      "  dlhost run job.toml\n"
      "  dlhost run job.toml --set train.batch=32 --set layer.hidden.units=256\n"
      "  dlhost run --resume runs/digits-...");
  command->callback([&context, options] {
    if (options->job.empty() && options->resume.empty())
      throw CLI::RequiredError("JOB.toml (or --resume FOLDER, to go on with a run)");
    env::catch_interrupts();
    env::outlive_readers();
    if (Status status = run_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
