// dlhost run: trains the job.
#include <filesystem>

#include <fmt/format.h>

#include "cli/job_file.h"
#include "config/dump.h"
#include "env/interrupt.h"
#include "env/terminal.h"
#include "env/usage.h"
#include "env/write_signals.h"
#include "record/profile.h"
#include "record/run_folder.h"
#include "record/summary.h"
#include "record/trace.h"
#include "run/peak.h"
#include "run/recorder.h"
#include "version.h"

namespace dlhost::cli {
namespace {

struct RunOptions {
  std::string job;
  std::vector<std::string> set;
  std::string resume;
  bool profile = false;
};

const char* status_of(run::Ending ending) {
  switch (ending) {
  case run::Ending::finished: return "done";
  case run::Ending::interrupted: return "interrupted";
  case run::Ending::diverged: return "failed";
  }
  return "";
}

record::Summary summary_of(const config::Job& job, const run::Outcome& outcome, run::Session& session,
                           const record::RunFolder& folder) {
  record::Summary summary;
  summary.status = status_of(outcome.ending);
  summary.steps = outcome.progress.step;
  summary.epochs = outcome.progress.epoch;
  summary.seconds = outcome.progress.seconds;
  summary.validation = outcome.validation.metrics;
  summary.test = outcome.test.metrics;
  summary.validation_tables = outcome.validation.tables;
  summary.test_tables = outcome.test.tables;
  if (outcome.progress.seconds > 0)
    summary.items_per_second = static_cast<double>(outcome.progress.items) / outcome.progress.seconds;
  summary.step_median = outcome.step_median;
  summary.step_least = outcome.step_least;
  summary.input_wait_seconds = outcome.load_seconds;
  summary.started_rss_bytes = outcome.started_bytes;
  summary.peak_rss_bytes = env::peak_resident_bytes();
  summary.job_hash = config::job_hash(job);
  if (const auto program = session.trainer(); program.ok()) summary.plan_hash = plan::hash((*program)->plan());
  summary.versions = {{"dlhost", version_text()}, {job.train.device.type, session.device().description()}};
  for (const auto& build : session.registry().builds())
    summary.versions.emplace_back(concat("plugin ", build.name), concat(build.version, "+", build.digest));
  summary.job_name = job.name;
  summary.why = outcome.reason;
  summary.folder = folder.path();
  summary.next = {{"dlhost plot " + folder.path(), "draws the curves"}};
  for (const auto& [phase, word] : {std::pair{Phase::test, "test"}, {Phase::validate, "validation"}})
    if (session.samples(phase) > 0) {
      summary.next.emplace_back(fmt::format("dlhost eval {} --phase {}", folder.path(), word), "measures it again");
      break;
    }
  if (outcome.ending == run::Ending::interrupted)
    summary.next.insert(summary.next.begin(), {"dlhost run " + job.path + " --resume " + folder.path(), "goes on"});
  return summary;
}

// A resumed run goes on in its own folder.
Result<record::RunFolder> folder_of(Context& context, const config::Job& job, const std::string& resume) {
  if (!resume.empty() && context.host.disk().exists(resume + "/checkpoints"))
    return record::RunFolder::open(context.host, resume);
  return record::RunFolder::make(context.host, job.record.folder.empty() ? "runs" : job.record.folder, job.name);
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

Status run_job(Context& context, const RunOptions& options) {
  auto& registry = context.registry();
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(const auto job, load_job(context, options.job, options.set));
  DLHOST_ASSIGN(auto session, run::Session::open(context.host, registry, job));
  env::StandardTerminal terminal(1);
  record::Progress progress(context.host.clock(), terminal);
  DLHOST_ASSIGN(auto folder, folder_of(context, job, options.resume));
  DLHOST_TRY(folder.write_job(config::to_toml(job, std::filesystem::current_path().string())));
  run::Checkpoints checkpoints(*session,
                               job.checkpoint.folder.empty() ? folder.file("checkpoints") : job.checkpoint.folder);

  record::MetricsLogOptions log_options{
      .every = static_cast<std::uint64_t>(std::max<std::int64_t>(job.record.every.steps, 1)),
      .tensorboard = job.record.tensorboard};
  std::optional<param::CheckpointFiles> from;
  if (!options.resume.empty()) {
    DLHOST_ASSIGN(from, run::Checkpoints::find(disk, options.resume));
    log_options.resumed = true;
    log_options.resumed_from = run::Checkpoints::step_of(*from);
  }
  DLHOST_ASSIGN(auto log, record::MetricsLog::open(context.host, folder, log_options));
  run::Recorder recorder(progress, *log);
  run::Training training(*session, recorder, env::interrupted());
  DLHOST_TRY(training.prepare());
  if (from) {
    DLHOST_TRY(training.resume(*from));
  } else {
    DLHOST_ASSIGN(const auto taken, training.start());
    if (taken) terminal.write(param::to_string(*taken) + "\n");
  }
  if (job.checkpoint.keep > 0) training.save_to(&checkpoints);
  const std::uint64_t first_step = training.progress().step;
  if (options.profile) training.program().measure(&context.host.clock());
  DLHOST_ASSIGN(const auto outcome, training.run());
  DLHOST_ASSIGN(const auto last, recorder.finish(training.progress(), training.program()));
  DLHOST_TRY(log->sync());
  auto summary = summary_of(job, outcome, *session, folder);
  summary.train.assign(last.metrics.begin(), last.metrics.end());
  DLHOST_TRY(record::write_summary(disk, folder, summary));
  terminal.write(record::summary_table(summary, terminal.unicode()));
  if (options.profile)
    DLHOST_TRY(write_profile(context, *session, training, folder, outcome, outcome.progress.step - first_step));
  if (outcome.ending == run::Ending::diverged) context.exit_code = exit_diverged;
  if (outcome.ending == run::Ending::interrupted) context.exit_code = exit_interrupted;
  return {};
}

} // namespace

void add_run(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("run", "train a job");
  auto options = std::make_shared<RunOptions>();
  command->add_option("job", options->job, "the job file")->required()->type_name("JOB.toml");
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
      "  dlhost run job.toml --resume runs/digits-...");
  command->callback([&context, options] {
    env::catch_interrupts();
    env::outlive_readers();
    if (Status status = run_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
