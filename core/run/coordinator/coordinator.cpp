#include "run/coordinator/coordinator.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/dump.h"
#include "env/process/process.h"
#include "param/file/import_export.h"
#include "plugin/faults.h"
#include "run/coordinator/balance.h"
#include "run/coordinator/run_summary.h"
#include "run/coordinator/steering.h"
#include "run/coordinator/warm_up.h"
#include "run/membership/meeting_folder.h"
#include "run/recovery/succession.h"

namespace dlhost::run {

Status Coordinator::run() {
  Status status = go_on(begin());
  give_up_others();
  if (!status.ok() && (began_ || (start_.inherits && folder_))) tell_failure(status);
  environment_.end_succession();
  return status;
}

Status Coordinator::begin() {
  if (start_.resume.empty()) return attempt({});
  if (start_.inherits) return inherit();
  DLHOST_TRY(open_folder());
  DLHOST_ASSIGN(auto from, Checkpoints::find(host(), start_.resume));
  began_elsewhere_ = !folder_;
  resumes_ = true;
  return attempt(std::move(from));
}

Status Coordinator::inherit() {
  const std::string& run = start_.resume;
  DLHOST_ASSIGN(leadership_, environment_.inherit(run));
  DLHOST_ASSIGN(folder_, record::RunFolder::open(host(), run));
  DLHOST_TRY(keep_log());
  DLHOST_TRY(begin_succession());
  DLHOST_ASSIGN(const auto before, Leadership::told(disk_, run));
  recovery_ = Recovery(job_, before.past);
  summary_.job_name = job_.name;
  summary_.folder = folder_->path();
  summary_.steps = before.past.furthest;
  if (before.going_on.any(environment_.processes())) going_on_ = before.going_on;
  const Status status =
      Status::gone("the run's leader is gone, and process ", environment_.processes().own(), " takes its place");
  DLHOST_ASSIGN(const auto point, newest_point());
  if (recovery_.goes_on(status, point ? Checkpoints::step_of(*point) : 0)) return again(status);
  return Status::gone("the run's leader is gone, and ", before.past.tries,
                      " that took its place came no further than step ", before.past.furthest,
                      " (recovery.restarts says how many may)");
}

// Groups that go on among which no attempt begins any more have to end.
void Coordinator::give_up_others() {
  if (is_among_others()) MeetingFolder::give_up(disk_, going_on_.meeting);
  going_on_ = {};
}

// Workers of a lost leader end if no attempt begins among them.
Status Coordinator::tell_beginning() {
  DLHOST_ASSIGN(const auto before, Leadership::told(disk_, folder_->path()));
  if (!is_among_others() && !before.going_on.meeting.empty()) MeetingFolder::give_up(disk_, before.going_on.meeting);
  return leadership_->tell(this_leader());
}

// If the first group cannot begin among the others, for whatever reason, all begin anew.
bool Coordinator::may_rejoin(const Training& training) const {
  constexpr int most_in_vain = 3;
  return may_go_on() && recovery_.has_tries(training.progress().step) && rejoins_in_vain_ < most_in_vain;
}

std::string Coordinator::how_it_goes_on(const Point& point) const {
  return is_among_others() ? "the other server groups go on, and the first one begins anew"
                           : Attempts::how_it_goes_on(point);
}

Status Coordinator::attempt(Point from) {
  plugin::tell_checkpoint(from ? plugin::immortal(from->folder) : plugin::no_checkpoint_yet);
  const config::Job arranged =
      is_among_others() ? job_ : arranged_at(job_, from ? Checkpoints::step_of(*from) : 0); // past the warm-up
  const config::Job job = environment_.of_leader(arranged);
  DLHOST_ASSIGN(auto session, Session::open(host(), environment_.registry(), job));
  Training training(*session, environment_.interrupted());
  training.employ(is_among_others() ? environment_.pool_among(arranged, going_on_) : environment_.pool(arranged));
  training.tell_processes_by([&] { tell_workers(training).ignore("a successor finds the dead processes gone"); });
  training.rejoin_if([&] { return may_rejoin(training); });
  Status status = attempt(*session, training, from);
  if (status.code() == Code::gone && training.others_go_on()) {
    rejoins_in_vain_ = training.has_begun() ? 0 : rejoins_in_vain_ + 1;
    going_on_ = training.going_on();
    training.let_go();
  } else {
    give_up_others();
  }
  return status;
}

// Makes the run's folder only when everything is ready for the first step: earlier errors leave none.
Status Coordinator::attempt(Session& session, Training& training, const Point& from) {
  if (leadership_) DLHOST_TRY(tell_beginning());
  // Whether the start of the run is on disk.
  const bool known = folder_ && (!began_elsewhere_ || disk_.exists(folder_->file("recovery")));
  if (known) bequeath(training);
  if (Status made = make_program(training, session, from); !made.ok()) // all can still begin anew
    return is_among_others() ? Status::gone(made.message()) : std::move(made);
  DLHOST_TRY(begin_records(session, training));
  Status status = train(session, training, from.has_value() || is_among_others());
  steps_ = training.progress().step;
  if (training.is_to_die()) {
    host().log().write(LogLevel::error, concat(status.message(), "; another process goes on with the run"));
    environment_.processes().kill(environment_.processes().own());
  }
  return status;
}

// The program has the values and the position that the attempt begins with.
Status Coordinator::make_program(Training& training, const Session& session, const Point& from) {
  DLHOST_TRY(training.prepare());
  if (start_.verifies_data && !began_) DLHOST_TRY(training.read_all_samples());
  if (is_among_others()) return training.rejoin(from);
  if (!from) {
    DLHOST_ASSIGN(const auto taken, training.start());
    if (taken) environment_.terminal().write(param::to_string(*taken) + "\n");
    return tell_samples(session);
  }
  const bool resumes = std::exchange(resumes_, false);
  if (resumes && !start_.accepts_data) training.hold_to_samples();
  DLHOST_TRY(training.resume(*from, std::exchange(rearranged_, false)));
  return resumes ? tell_changes() : Status();
}

// From here on another process can continue the run.
Status Coordinator::begin_records(Session& session, Training& training) {
  if (!std::exchange(saw_room_, true) && recovery_.past().times == 0)
    DLHOST_TRY(environment_.check_room(session, folder_ ? checkpoint_folder() : parent_of_checkpoints()));
  DLHOST_TRY(folder_ ? keep_job() : make_folder());
  bequeath(training);
  DLHOST_TRY(tell_workers(training));
  summary_ = summary_of_start(session, *folder_);
  environment_.add_start(summary_, session);
  summary_.steps = training.progress().step;
  began_ = true;
  if (asked_) DLHOST_TRY(answer());
  DLHOST_TRY(write_summary());
  if (!ended_before_) return {};
  DLHOST_ASSIGN(ended_before_, permit_takeover(disk_, folder_->path()));
  return {};
}

Leader Coordinator::this_leader() const {
  return {
      .host = machine(), .process = environment_.processes().own(), .past = recovery_.past(), .going_on = going_on_};
}

Status Coordinator::tell_workers(Training& training) {
  if (!leadership_) return {};
  Leader leader = this_leader();
  leader.workers = training.processes();
  if (auto going_on = training.going_on(); !going_on.meeting.empty()) leader.going_on = std::move(going_on);
  return leadership_->tell(leader);
}

bool Coordinator::is_asked() {
  const Nanoseconds now = host().clock().now();
  if (now < look_again_) return false;
  look_again_ = now + environment_.request_interval();
  return scaling_->is_wished();
}

// Continues with the requested job; if that cannot start, with the old one.
Status Coordinator::rearrange() {
  if (members_) DLHOST_TRY(members_->await_leavers(host().clock()));
  rearranged_ = true;
  if (!scaling_->is_wished()) return continue_rearranged();
  auto wanted = environment_.load(scaling_->job_file());
  if (!wanted.ok()) return refuse(wanted.status());
  config::Job before = std::exchange(job_, *std::move(wanted));
  const Recovery recovery = std::exchange(recovery_, Recovery(job_, recovery_.past()));
  asked_ = true;
  DLHOST_ASSIGN(auto point, newest_point());
  Status status = attempt(std::move(point));
  if (!asked_ || status.code() == Code::gone) return status; // the new job has started, or may start again
  job_ = std::move(before);
  recovery_ = recovery;
  return refuse(status);
}

// Without a request: the first group has warmed up, or the workers' shares or the members have changed.
Status Coordinator::continue_rearranged() {
  environment_.terminal().write(arrangement(steps_));
  const auto before = std::exchange(unbalanced_, std::nullopt);
  began_ = false;
  DLHOST_ASSIGN(auto point, newest_point());
  Status status = attempt(std::move(point));
  const bool goes_on = std::exchange(began_, true);
  if (status.ok() || goes_on || !before || status.code() == Code::gone) return status;
  host().log().write(LogLevel::warning, concat("workers keep the rows that they had: ", status.message()));
  job_ = *before;
  job_.topology.balance_steps = 0;
  DLHOST_ASSIGN(point, newest_point());
  return attempt(std::move(point));
}

Status Coordinator::refuse(const Status& why) {
  asked_ = false;
  DLHOST_TRY(scaling_->tell({.step = steps_, .refused = why.message()}));
  DLHOST_ASSIGN(auto point, newest_point());
  return attempt(std::move(point));
}

std::string Coordinator::arrangement(std::uint64_t step) const {
  const config::Topology& topology = job_.topology;
  const std::size_t processes = members_ ? members_->all().size() : 1;
  return fmt::format("{} worker group{} of {}{}{} from step {} on\n", topology.worker_groups,
                     topology.worker_groups == 1 ? "" : "s", topology.workers_per_group,
                     topology.shares.empty() ? "" : fmt::format(" ({} rows)", fmt::join(rows_of(job_), ", ")),
                     processes == 1 ? "" : fmt::format(", of {} processes,", processes), step);
}

Status Coordinator::answer() {
  asked_ = false;
  ++rearrangements_;
  environment_.terminal().write(arrangement(summary_.steps));
  return scaling_->tell({.step = summary_.steps, .refused = ""});
}

std::string Coordinator::absolute_folder() const { return env::absolute_path(folder_->path()); }

void Coordinator::bequeath(Training& training) {
  if (recovery_.on() && leadership_) training.bequeath(absolute_folder());
}

// A resumed run continues in its own folder and needs its lock.
Status Coordinator::open_folder() {
  auto own = record::RunFolder::open(host(), start_.resume);
  if (!own.ok()) return {}; // a checkpoint
  folder_ = *std::move(own);
  DLHOST_TRY(lead());
  Scaling scaling(disk_, folder_->path());
  if (scaling.is_wished()) scaling.forget(); // the process that requested it is gone
  Steering(disk_, folder_->path()).forget();
  DLHOST_TRY(keep_log());
  return begin_succession();
}

// Makes the run's folders before the first step. Errors name the key that gives the place.
Status Coordinator::make_folder() {
  const std::string& kept = job_.checkpoint.folder;
  if (const Status status = kept.empty() ? Status() : disk_.make_directory(kept); !status.ok())
    return config::invalid_at(job_.place("checkpoint.folder"), "checkpoint.folder: ", status.message(),
                              "; name a folder that can be made, or leave it out");
  auto made = record::RunFolder::make(host(), parent_of_runs(), job_.name);
  if (!made.ok())
    return config::invalid_at(job_.place("record.folder"), "record.folder: ", made.status().message(),
                              "; name a folder that can be made, in which each run gets its own");
  folder_ = *std::move(made);
  DLHOST_TRY(keep_job()); // before another process may take over
  DLHOST_TRY(keep_log());
  DLHOST_TRY(lead());
  return begin_succession();
}

std::string Coordinator::job_text() const { return config::to_toml(job_, env::working_folder()); }

// Takes the lock of the run. Without locks the run continues, without a standby and without `dlhost ps`.
Status Coordinator::lead() {
  auto leadership = Leadership::take(disk_, environment_.processes(), folder_->path(), machine(), membership());
  if (leadership.ok()) {
    leadership_ = *std::move(leadership);
    return {};
  }
  if (leadership.status().code() != Code::unsupported) return leadership.status();
  host().log().write(LogLevel::warning, leadership.status().message() +
                                            ": no process takes over should this one die, and `dlhost ps` does "
                                            "not see the run");
  return {};
}

// From here on the run survives the death of this process. Members need no standby: they elect a new leader.
Status Coordinator::begin_succession() {
  if (!recovery_.on() || members_ || !leadership_) return {};
  DLHOST_ASSIGN(ended_before_, permit_takeover(disk_, folder_->path()));
  return environment_.begin_succession(absolute_folder());
}

Status Coordinator::end_at(const Point& point, const Status& lost) {
  outcome_.ending = Ending::interrupted;
  if (!folder_) {
    host().log().write(LogLevel::warning, concat("interrupted before the first step: ", lost.message()));
    return {};
  }
  summary_.status = "interrupted";
  summary_.steps = point ? Checkpoints::step_of(*point) : 0;
  summary_.reason = concat("interrupted, and lost a process before all was saved (", lost.message(),
                           "): the newest whole checkpoint is of step ", summary_.steps);
  DLHOST_TRY(write_summary());
  show_summary();
  return {};
}

// The newest point to continue from. For a run that started from another run's checkpoint, the first is that
// checkpoint.
Result<Attempts::Point> Coordinator::newest_point() {
  if (folder_) {
    // A folder that the job names may contain other runs' checkpoints.
    const auto folders = job_.checkpoint.folder.empty() ? Checkpoints::folders_of(folder_->path())
                                                        : std::vector{folder_->file("recovery"), std::string()};
    DLHOST_ASSIGN(auto newest, newest_in(folders));
    if (newest) return Point(std::move(newest));
  }
  if (start_.resume.empty() || start_.inherits) return Point();
  DLHOST_ASSIGN(auto first, Checkpoints::find(host(), start_.resume));
  return Point(std::move(first));
}

} // namespace dlhost::run
