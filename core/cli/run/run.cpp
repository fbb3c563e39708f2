// dlhost run: trains a job.
#include "cli/job_file.h"
#include "cli/opened_run.h"
#include "cli/run/job_run.h"
#include "cli/run/members.h"
#include "cli/run/run_request.h"
#include "cli/run/unfinished_run.h"
#include "cli/run_named.h"
#include "env/process/interrupt.h"
#include "env/process/launched.h"
#include "env/process/write_signals.h"
#include "record/run_folder.h"
#include "run/membership/agent.h"
#include "run/session/checkpoints.h"

namespace dlhost::cli {
namespace {

struct RunOptions {
  RunRequest asked;
  int take_over = -1, standby = -1; // descriptors for a process that replaces a killed leader
  MembersOptions members;
};

// Whether the run's leader sends the job, so that this process needs no job file.
bool is_told_the_job(const RunOptions& options) {
  return !options.members.launched.empty() && options.members.rank.value_or(0) != 0;
}

Status lead(Context& context, const LeaderStart& beginning, config::Job job, run::Members& members) {
  Status status = run_to_its_end(context, beginning, std::move(job), &members);
  members.dismiss(context.host.clock());
  return status;
}

// Leads a run from its folder: this process was started with options for the first start, which no longer apply.
Status lead_on(Context& context, const std::string& run, bool profile, run::Members& members) {
  DLHOST_ASSIGN(const std::string file, record::RunFolder::job_above(context.host.disk(), run));
  DLHOST_ASSIGN(auto job, load_job(context, file, {}));
  return lead(context, {.run = {.resume = run, .inherits = true, .measures = profile}}, std::move(job), members);
}

Status run_job(Context& context, RunOptions options) {
  Disk& disk = context.host.disk();
  RunRequest& asked = options.asked;
  if (!asked.resume.empty()) {
    DLHOST_ASSIGN(asked.resume, run_named(disk, asked.resume));
  }
  if (!asked.resume.empty() && !disk.exists(asked.resume))
    return run::Checkpoints::find(context.host, asked.resume).status();
  config::Job job;
  if (!is_told_the_job(options)) {
    std::string file = asked.job;
    if (file.empty()) {
      DLHOST_ASSIGN(file, record::RunFolder::job_above(
                              disk, asked.resume,
                              concat("name the job as well (dlhost run JOB.toml --resume ", asked.resume, ")")));
    }
    DLHOST_ASSIGN(job, load_job(context, file, asked.set));
    if (asked.goes_on && asked.resume.empty()) {
      DLHOST_ASSIGN(asked.resume, unfinished_run(context, job));
    }
  }
  DLHOST_ASSIGN(const auto members, join_members(context, job, options.members));
  const LeaderStart beginning{.run = {.resume = asked.resume,
                                      .inherits = options.take_over >= 0,
                                      .accepts_data = asked.accepts_data,
                                      .verifies_data = asked.verifies_data,
                                      .measures = asked.profile},
                              .take_over = options.take_over,
                              .standby = options.standby};
  if (!members) return run_to_its_end(context, beginning, std::move(job), nullptr);
  if (members->is_to_begin()) DLHOST_TRY(members->try_to_lead());
  if (!members->leads()) {
    run::Agent agent(context.host, context.registry(), *members, env::interrupted(), !is_told_the_job(options));
    DLHOST_ASSIGN(const auto left, agent.run());
    if (!left) return {};
    if (!left->run.empty()) return lead_on(context, left->run, asked.profile, *members);
  }
  if (asked.resume.empty()) {
    DLHOST_ASSIGN(const std::string run, unfinished_run_of(context, job, members->name()));
    if (!run.empty()) return lead_on(context, run, asked.profile, *members);
  }
  return lead(context, beginning, std::move(job), *members);
}

} // namespace

void add_run(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("run", "train a job");
  auto options = std::make_shared<RunOptions>();
  add_asked_options(*command, options->asked);
  command->add_option("--take-over", options->take_over)->group("");
  command->add_option("--standby", options->standby)->group("");
  add_members_options(*command, options->members);
  command->footer(
      "Each run leaves its results in a folder of its own: runs/NAME-..., with the job, summary.json, metrics.jsonl,\n"
      "TensorBoard events and checkpoints. Ctrl-C saves a checkpoint and ends; twice ends at once. If workers are\n"
      "processes and one of them dies, the run continues from its last complete state ([recovery] in the job).\n\n"
      "Examples:\n"
      "  dlhost run job.toml\n"
      "  dlhost run job.toml --set train.batch=32 --set layer.hidden.units=256\n"
      "  dlhost run --resume runs/digits-...");
  command->callback([&context, options] {
    if (options->asked.is_nothing() && !is_told_the_job(*options)) tell_that_nothing_is_asked();
    env::catch_interrupts("\ndlhost: saving after this step, then it ends; Ctrl-C again ends it at once\n");
    env::outlive_readers();
    if (Status status = run_job(context, *options); !status.ok()) context.fail(status);
    if (!options->members.launched.empty() && context.exit_code == 0) context.exit_code = env::ended_well;
  });
}

} // namespace dlhost::cli
