#include "cli/run/job_run.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/job_file.h"
#include "cli/opened_run.h"
#include "cli/run/disk_room.h"
#include "cli/run/full_disk.h"
#include "cli/run/run_profile.h"
#include "cli/run/run_summary.h"
#include "cli/run/succession.h"
#include "config/changes.h"
#include "config/dump.h"
#include "env/printable.h"
#include "env/process/interrupt.h"
#include "env/process/launched.h"
#include "env/process/process.h"
#include "env/process/successors.h"
#include "env/terminal.h"
#include "plugin/faults.h"
#include "record/curves.h"
#include "record/run_folder.h"
#include "run/coordinator/balance.h"
#include "run/coordinator/recorder.h"
#include "run/coordinator/scaling.h"
#include "run/coordinator/steering.h"
#include "run/coordinator/warm_up.h"
#include "run/input/samples_found.h"
#include "run/membership/cluster_pool.h"
#include "run/recovery/attempts.h"
#include "run/recovery/leadership.h"
#include "run/recovery/ledgers.h"
#include "run/recovery/standby.h"

namespace dlhost::cli {
namespace {

std::string checkpoint_folder(const config::Job& job, const record::RunFolder& folder) {
  return job.checkpoint.folder.empty() ? folder.file("checkpoints") : job.checkpoint.folder;
}

// Ends the run as Ctrl-C does.
Status end_as_asked() {
  env::ask_to_end(env::own_process());
  return {};
}

// Kills a worker. Worker 0 is this process: the missing leader is the answer.
Status kill(run::Training& training, std::uint32_t worker) {
  if (worker == 0) env::kill(env::own_process());
  return training.kill(worker);
}

class JobRun final : private run::Attempts {
 public:
  JobRun(Context& context, const RunStart& beginning, config::Job job, run::Members* members)
      : Attempts(context.host, run::Recovery(job)), context_(context), disk_(context.host.disk()),
        beginning_(beginning), job_(std::move(job)), members_(members) {}

  Status run() {
    Status status = go_on(begin());
    if (!status.ok() && (began_ || (inherits() && folder_))) tell_failure(status);
    end_succession();
    return status;
  }

 private:
  Status begin();
  std::string host() const { return members_ ? members_->host() : env::host_name(); }
  std::string membership() const { return members_ ? members_->name() : std::string(); }
  bool inherits() const { return beginning_.take_over >= 0 || beginning_.succeeds; }
  Status inherit();
  Status attempt(Point from) override;
  Status rearrange() override;
  bool is_asked();
  Status answer();
  std::string arrangement(std::uint64_t step) const;
  Result<Point> newest_point() override;
  bool may_go_on() const override { return !env::interrupted() && !(members_ && members_->is_out()); }
  bool is_to_end() const override { return env::interrupted(); }
  Status end_at(const Point&, const Status& lost) override;
  Status open_folder();
  Status tell_samples(const run::Session&);
  Status tell_changes();
  std::string parent_of_runs() const { return job_.record.folder.empty() ? "runs" : job_.record.folder; }
  std::string parent_of_checkpoints() const {
    return job_.checkpoint.folder.empty() ? parent_of_runs() : job_.checkpoint.folder;
  }
  Status make_folder();
  Status keep_log();
  std::string job_text() const;
  Status keep_job();
  Status lead(const std::string& run);
  Status begin_succession();
  void end_succession();
  Status tell_workers(run::Training&);
  void bequeath(run::Training&);
  Status train(run::Session&, run::Training&, bool resumed);
  Status unless_full(Status written);
  void tell_last_record();
  void tell_failure(const Status&);

  Context& context_;
  Disk& disk_;
  const RunStart& beginning_;
  config::Job job_;
  run::Members* const members_;
  env::StandardTerminal terminal_{1};
  std::optional<record::RunFolder> folder_;
  std::optional<run::Leadership> leadership_; // of the run in folder_
  std::optional<run::Standby> standby_;
  record::Summary summary_;
  std::vector<record::Replacement> replacements_;
  bool saw_room_ = false;                 // whether the disk's room was checked: once, and never for a recovered run
  bool began_ = false;                    // its first step was about to be made
  bool asked_ = false;                    // job_ is a requested one and has not started yet
  bool rearranged_ = false;               // the next attempt has another arrangement of workers
  std::optional<config::Job> unbalanced_; // the job before its batch shares were balanced
  std::optional<run::Scaling> scaling_;   // requests for the run in folder_
  Nanoseconds look_again_ = 0;            // the next time to look for a request
  bool began_elsewhere_ = false;          // started from a checkpoint of another run
  bool resumes_ = false;                  // the next attempt resumes at the user's request
};

Status JobRun::begin() {
  if (beginning_.resume.empty()) return attempt({});
  if (inherits()) return inherit();
  DLHOST_TRY(open_folder());
  DLHOST_ASSIGN(auto from, run::Checkpoints::find(context_.host, beginning_.resume));
  began_elsewhere_ = !folder_;
  resumes_ = true;
  return attempt(std::move(from));
}

Status JobRun::inherit() {
  constexpr Nanoseconds to_notice = 60'000'000'000; // for a leader that lives, but was lost, to notice that
  const std::string& run = beginning_.resume;
  auto leadership = beginning_.succeeds
                        ? run::Leadership::await(disk_, context_.host.clock(), run, host(), membership(), to_notice)
                        : run::Leadership::adopt(disk_, run, beginning_.take_over);
  DLHOST_TRY(leadership.status());
  leadership_ = *std::move(leadership);
  DLHOST_ASSIGN(folder_, record::RunFolder::open(context_.host, run));
  DLHOST_TRY(keep_log());
  DLHOST_TRY(begin_succession());
  DLHOST_ASSIGN(const auto before, run::Leadership::told(disk_, run));
  recovery_ = run::Recovery(job_, before.past);
  summary_.job_name = job_.name;
  summary_.folder = folder_->path();
  summary_.steps = before.past.furthest;
  const Status status = Status::gone("the run's leader is gone, and process ", env::own_process(), " takes its place");
  DLHOST_ASSIGN(const auto point, newest_point());
  if (recovery_.goes_on(status, point ? run::Checkpoints::step_of(*point) : 0)) return again(status);
  return Status::gone("the run's leader is gone, and ", before.past.tries,
                      " that took its place came no further than step ", before.past.furthest,
                      " (recovery.restarts says how many may)");
}

// Makes the run's folder only when everything is ready for the first step: earlier errors leave none.
Status JobRun::attempt(Point from) {
  plugin::tell_checkpoint(from ? plugin::immortal(from->folder) : plugin::no_checkpoint_yet);
  const config::Job job = run::arranged_at(job_, from ? run::Checkpoints::step_of(*from) : 0);
  DLHOST_ASSIGN(auto session, run::Session::open(context_.host, context_.registry(), job));
  run::Training training(*session, env::interrupted());
  if (members_) training.employ(run::ClusterPool::maker(*members_));
  if (leadership_)
    DLHOST_TRY(leadership_->tell({.host = host(), .process = env::own_process(), .past = recovery_.past()}));
  // Whether the start of the run is on disk.
  const bool known = folder_ && (!began_elsewhere_ || disk_.exists(folder_->file("recovery")));
  if (known) bequeath(training);
  DLHOST_TRY(training.prepare());
  if (beginning_.verifies_data && !began_) DLHOST_TRY(training.read_all_samples());
  if (from) {
    const bool resumes = std::exchange(resumes_, false);
    if (resumes && !beginning_.accepts_data) training.hold_to_samples();
    DLHOST_TRY(training.resume(*from, std::exchange(rearranged_, false)));
    if (resumes) DLHOST_TRY(tell_changes());
  } else {
    DLHOST_ASSIGN(const auto taken, training.start());
    if (taken) terminal_.write(param::to_string(*taken) + "\n");
    DLHOST_TRY(tell_samples(*session));
  }
  if (!std::exchange(saw_room_, true) && recovery_.past().times == 0)
    DLHOST_TRY(check_disk_room(*session, folder_ ? checkpoint_folder(job_, *folder_) : parent_of_checkpoints()));
  DLHOST_TRY(folder_ ? keep_job() : make_folder());
  bequeath(training);
  DLHOST_TRY(tell_workers(training));
  summary_ = summary_of_start(*session, *folder_);
  summary_.steps = training.progress().step;
  began_ = true;
  if (asked_) DLHOST_TRY(answer());
  DLHOST_TRY(record::write_summary(disk_, *folder_, summary_));
  Status status = train(*session, training, from.has_value());
  steps_ = training.progress().step;
  if (training.is_to_die()) {
    context_.host.log().write(LogLevel::error, concat(status.message(), "; another process goes on with the run"));
    env::kill(env::own_process());
  }
  return status;
}

Status JobRun::tell_workers(run::Training& training) {
  if (!leadership_) return {};
  return leadership_->tell(
      {.host = host(), .process = env::own_process(), .workers = training.processes(), .past = recovery_.past()});
}

bool JobRun::is_asked() {
  constexpr Nanoseconds pause = 100'000'000;
  const Nanoseconds now = context_.host.clock().now();
  if (now < look_again_) return false;
  look_again_ = now + pause;
  return scaling_->is_wished();
}

// Continues with the requested job; if that cannot start, with the old one. Without a request: the first group has
// warmed up, or the members have changed.
Status JobRun::rearrange() {
  run::Scaling& scaling = *scaling_;
  if (members_) DLHOST_TRY(members_->await_leavers(context_.host.clock()));
  rearranged_ = true;
  if (!scaling.is_wished()) {
    terminal_.write(arrangement(steps_));
    const auto before = std::exchange(unbalanced_, std::nullopt);
    began_ = false;
    DLHOST_ASSIGN(auto point, newest_point());
    Status status = attempt(std::move(point));
    const bool goes_on = std::exchange(began_, true);
    if (status.ok() || goes_on || !before || status.code() == Code::gone) return status;
    context_.host.log().write(LogLevel::warning, concat("workers keep the rows that they had: ", status.message()));
    job_ = *before;
    job_.topology.balance_steps = 0;
    DLHOST_ASSIGN(point, newest_point());
    return attempt(std::move(point));
  }
  const auto refuse = [&](const Status& why) -> Status {
    asked_ = false;
    DLHOST_TRY(scaling.tell({.step = steps_, .refused = why.message()}));
    DLHOST_ASSIGN(auto point, newest_point());
    return attempt(std::move(point));
  };
  auto wanted = load_job(context_, scaling.job_file(), {});
  if (!wanted.ok()) return refuse(wanted.status());
  config::Job before = std::exchange(job_, *std::move(wanted));
  const run::Recovery recovery = std::exchange(recovery_, run::Recovery(job_, recovery_.past()));
  asked_ = true;
  DLHOST_ASSIGN(auto point, newest_point());
  Status status = attempt(std::move(point));
  if (!asked_ || status.code() == Code::gone) return status; // the new job has started, or may start again
  job_ = std::move(before);
  recovery_ = recovery;
  return refuse(status);
}

std::string JobRun::arrangement(std::uint64_t step) const {
  const config::Topology& topology = job_.topology;
  const std::size_t processes = members_ ? members_->all().size() : 1;
  return fmt::format("{} worker group{} of {}{}{} from step {} on\n", topology.worker_groups,
                     topology.worker_groups == 1 ? "" : "s", topology.workers_per_group,
                     topology.shares.empty() ? "" : fmt::format(" ({} rows)", fmt::join(run::rows_of(job_), ", ")),
                     processes == 1 ? "" : fmt::format(", of {} processes,", processes), step);
}

Status JobRun::answer() {
  asked_ = false;
  terminal_.write(arrangement(summary_.steps));
  return scaling_->tell({.step = summary_.steps, .refused = ""});
}

void JobRun::bequeath(run::Training& training) {
  if (recovery_.on() && leadership_) training.bequeath(std::filesystem::absolute(folder_->path()).string());
}

// A resumed run continues in its own folder and needs its lock.
Status JobRun::open_folder() {
  auto own = record::RunFolder::open(context_.host, beginning_.resume);
  if (!own.ok()) return {}; // a checkpoint
  DLHOST_TRY(lead(own->path()));
  run::Scaling scaling(disk_, own->path());
  if (scaling.is_wished()) scaling.forget(); // the process that requested it is gone
  run::Steering(disk_, own->path()).forget();
  folder_ = *std::move(own);
  DLHOST_TRY(keep_log());
  return begin_succession();
}

Status JobRun::tell_samples(const run::Session& session) {
  DLHOST_ASSIGN(const auto found, run::samples_found(session));
  if (found.empty()) return {};
  terminal_.write(concat("samples  ", run::to_string(found, 9), "\n"));
  for (const auto& remark : run::remarks(found, run::class_names(session)))
    terminal_.write(concat("note: ", remark, "\n"));
  return {};
}

// Prints how the job differs from the run's saved one, by --set or another file.
Status JobRun::tell_changes() {
  const auto kept = record::RunFolder::job_above(disk_, beginning_.resume);
  if (!kept.ok()) return {}; // a checkpoint outside of its run's folder
  DLHOST_ASSIGN(const std::string before, disk_.read_text(*kept));
  for (const auto& change : config::changes(before, config::to_toml(job_, env::working_folder())))
    terminal_.write(concat("changed: ", change, "\n"));
  return {};
}

// Makes the run's folders before the first step. Errors name the key that gives the place.
Status JobRun::make_folder() {
  const std::string& kept = job_.checkpoint.folder;
  if (const Status status = kept.empty() ? Status() : disk_.make_directory(kept); !status.ok())
    return config::invalid_at(job_.place("checkpoint.folder"), "checkpoint.folder: ", status.message(),
                              "; name a folder that can be made, or leave it out");
  auto made = record::RunFolder::make(context_.host, parent_of_runs(), job_.name);
  if (!made.ok())
    return config::invalid_at(job_.place("record.folder"), "record.folder: ", made.status().message(),
                              "; name a folder that can be made, in which each run gets its own");
  folder_ = *std::move(made);
  DLHOST_TRY(keep_job()); // before another process may take over
  DLHOST_TRY(keep_log());
  DLHOST_TRY(lead(folder_->path()));
  return begin_succession();
}

Status JobRun::keep_log() { return context_.host.user_log().keep_in(disk_, folder_->file("log.txt")); }

std::string JobRun::job_text() const { return config::to_toml(job_, env::working_folder()); }
Status JobRun::keep_job() { return folder_->write_job(job_text()); }

// Takes the lock of the run. Without locks the run continues, without a standby and without `dlhost ps`.
Status JobRun::lead(const std::string& run) {
  auto leadership = run::Leadership::take(disk_, run, host(), membership());
  if (leadership.ok()) {
    leadership_ = *std::move(leadership);
    return {};
  }
  if (leadership.status().code() != Code::unsupported) return leadership.status();
  context_.host.log().write(LogLevel::warning, leadership.status().message() +
                                                   ": nobody takes over should this process die, and `dlhost ps` does "
                                                   "not see the run");
  return {};
}

// Starts the standby: from here on the run survives the death of this process. Members need no standby: they elect a
// new leader.
Status JobRun::begin_succession() {
  if (!recovery_.on() || members_ || !leadership_ || standby_) return {};
  const std::string run = std::filesystem::absolute(folder_->path()).string();
  DLHOST_TRY(disk_.write_text(run::may_be_taken_over(run), ""));
  env::leave_to_heirs(run::may_be_taken_over(run));
  const auto plugins = plugin_arguments(context_);
  auto line = beginning_.standby >= 0 ? env::Lifeline::adopt(beginning_.standby) : run::Standby::start(plugins, run);
  DLHOST_TRY(line.status());
  standby_.emplace(context_.host, plugins, run, *std::move(line));
  return {};
}

void JobRun::end_succession() {
  env::disinherit();
  env::leave_to_heirs("");
  standby_.reset();
}

// Trains and writes all records. Returns the status of the training.
Status JobRun::train(run::Session& session, run::Training& training, bool resumed) {
  record::Progress progress(context_.host.clock(), terminal_);
  run::Checkpoints checkpoints(session, checkpoint_folder(job_, *folder_),
                               static_cast<std::size_t>(job_.checkpoint.keep));
  run::Checkpoints points(session, folder_->file("recovery"), 1);
  if (job_.checkpoint.keep > 0) training.keep_in(&checkpoints);
  training.await_room_by([&](const run::LastSave& last) {
    return wait_for_room(context_.host, folder_->path(), job_.checkpoint.wait, last);
  });
  if (recovery_.on()) training.recover_from(&points, began_elsewhere_ || job_.topology.replicas > 1);
  training.replace_by([&](const Status& why) { return recovery_.goes_on(why, training.progress().step); },
                      [&](const record::Replacement& replacement) {
                        replacements_.push_back(replacement);
                        tell_workers(training).ignore("a successor finds the dead processes gone");
                      });
  const std::string testing = checkpoint_folder(job_, *folder_) + "/testing"; // the best one is moved out of here
  run::Checkpoints tested(session, testing, 1);
  if (job_.topology.testing_group) training.test_beside(&tested);
  if (!scaling_) scaling_.emplace(disk_, folder_->path());
  const std::uint64_t first_step = training.progress().step;
  const bool warm = run::warms_up(job_, first_step);
  const auto is_to_balance = [&] { return run::is_to_balance(session.job(), training.progress().step - first_step); };
  training.stand_still_for(
      [&, warm] {
        return is_asked() || (warm && !run::warms_up(job_, training.progress().step)) || is_to_balance() ||
               (members_ && members_->has_changed());
      },
      &points);
  const bool alone = plan::Place::seats(session.job().topology) == 1;
  const bool contribute = plan::Place::contribute_to_servers(session.job().topology);
  if (job_.record.ledger && (contribute || disk_.exists(folder_->file("ledger")))) {
    DLHOST_ASSIGN(auto ledger, run::begin_ledger(context_.host, folder_->path(), session.job(), job_text()));
    training.keep_ledger_in(std::filesystem::absolute(ledger.folder).string(), std::move(ledger.of));
  }
  DLHOST_ASSIGN(auto log, record::MetricsLog::open(context_.host, *folder_,
                                                   {.tensorboard = job_.record.tensorboard,
                                                    .resumed = resumed || recovery_.past().times > 0,
                                                    .resumed_from = first_step}));
  run::Recorder recorder(progress, *log, job_.record.every, training.progress());
  std::unique_ptr<record::WorkersLog> workers;
  if (!alone) {
    DLHOST_ASSIGN(workers, record::WorkersLog::open(context_.host, *folder_));
    recorder.record_workers(workers.get());
  }
  if (beginning_.profile) training.program().measure(&context_.host.clock());
  const run::Outcome outcome = [&] {
    const run::Steered steered(context_.host, folder_->path(), end_as_asked,
                               [&](std::uint32_t worker) { return kill(training, worker); });
    return training.run(recorder);
  }();
  const auto last = recorder.finish(training.progress(), training.program());
  add_end(summary_, context_, session, outcome);
  if (outcome.error.ok()) summary_.ledgers = training.heads();
  summary_.recoveries = recovery_.past().times;
  summary_.replacements = replacements_;
  if (last.ok()) summary_.train.assign(last->metrics.begin(), last->metrics.end());
  if (training.progress().step == first_step) tell_last_record();
  DLHOST_TRY(outcome.error);
  DLHOST_TRY(last.status());
  DLHOST_TRY(unless_full(log->sync()));
  stands_ = outcome.ending == run::Ending::standing;
  if (stands_ && is_to_balance()) unbalanced_ = std::exchange(job_, run::balanced(job_, outcome.workers));
  if (stands_) return {};
  DLHOST_TRY(unless_full(record::write_summary(disk_, *folder_, summary_)));
  training.dismiss(); // before files that another process would continue from are removed
  DLHOST_TRY(training.part());
  if (job_.checkpoint.keep > 0) disk_.remove(folder_->file("recovery")).ignore("it takes room and does no harm");
  if (job_.topology.testing_group) disk_.remove(testing).ignore("it takes room and does no harm");
  terminal_.write(record::summary_table(summary_, terminal_.unicode()));
  if (beginning_.profile)
    DLHOST_TRY(write_profile(context_, session, training, *folder_, outcome, outcome.progress.step - first_step));
  if (outcome.ending == run::Ending::diverged) context_.exit_code = exit_diverged;
  if (outcome.ending == run::Ending::interrupted) context_.exit_code = exit_interrupted;
  return {};
}

// A full disk is only a warning here: the params are saved already.
Status JobRun::unless_full(Status written) {
  if (written.code() != Code::no_space) return written;
  context_.host.log().write(LogLevel::warning, written.message());
  return {};
}

// Reads the last training metrics of a run that had made its last step before it was resumed or lost its leader.
void JobRun::tell_last_record() {
  const auto curves = record::read_curves(disk_, folder_->path());
  if (curves.ok()) summary_.train = record::recorded_at(*curves, "train", summary_.steps);
}

Status JobRun::end_at(const Point& point, const Status& lost) {
  context_.exit_code = exit_interrupted;
  if (!folder_) {
    context_.host.log().write(LogLevel::warning, concat("interrupted before the first step: ", lost.message()));
    return {};
  }
  summary_.status = "interrupted";
  summary_.steps = point ? run::Checkpoints::step_of(*point) : 0;
  summary_.reason = concat("interrupted, and lost a process before all was saved (", lost.message(),
                           "): the newest whole checkpoint is of step ", summary_.steps);
  DLHOST_TRY(record::write_summary(disk_, *folder_, summary_));
  terminal_.write(record::summary_table(summary_, terminal_.unicode()));
  return {};
}

void JobRun::tell_failure(const Status& status) {
  summary_.status = "failed";
  summary_.reason = env::printable(status.message(), env::longest_message);
  record::write_summary(disk_, *folder_, summary_).ignore("what ended the run is what has to be told");
  summary_.reason.clear(); // printed below the table
  terminal_.write(record::summary_table(summary_, terminal_.unicode()));
}

// The newest point to continue from. For a run that started from another run's checkpoint, the first is that
// checkpoint.
Result<run::Attempts::Point> JobRun::newest_point() {
  if (folder_) {
    // A folder that the job names may contain other runs' checkpoints.
    const auto folders = job_.checkpoint.folder.empty() ? run::Checkpoints::folders_of(folder_->path())
                                                        : std::vector{folder_->file("recovery"), std::string()};
    DLHOST_ASSIGN(auto newest, newest_in(folders));
    if (newest) return Point(std::move(newest));
  }
  if (beginning_.resume.empty() || inherits()) return Point();
  DLHOST_ASSIGN(auto first, run::Checkpoints::find(context_.host, beginning_.resume));
  return Point(std::move(first));
}

} // namespace

Status run_to_its_end(Context& context, const RunStart& beginning, config::Job job, run::Members* members) {
  return JobRun(context, beginning, std::move(job), members).run();
}

} // namespace dlhost::cli
