// One attempt's training, with all its records.
#include <utility>

#include "config/changes.h"
#include "config/dump.h"
#include "env/printable.h"
#include "env/process/process.h"
#include "record/curves.h"
#include "record/metrics_log.h"
#include "record/progress.h"
#include "record/workers_log.h"
#include "run/coordinator/balance.h"
#include "run/coordinator/coordinator.h"
#include "run/coordinator/recorder.h"
#include "run/coordinator/run_summary.h"
#include "run/coordinator/steering.h"
#include "run/coordinator/warm_up.h"
#include "run/input/samples_found.h"
#include "run/recovery/ledgers.h"

namespace dlhost::run {
namespace {

// Reports to the records, and to another observer if there is one.
class BothObservers final : public Observer {
 public:
  BothObservers(Recorder& records, Observer* other) : records_(records), other_(other) {}
  Status on_step(const Progress& progress, program::Program& program) override {
    DLHOST_TRY(records_.on_step(progress, program));
    return other_ ? other_->on_step(progress, program) : Status();
  }
  bool asks_after_workers() override { return records_.asks_after_workers(); }
  Status on_workers(const Progress& progress, std::vector<record::WorkerReport> workers) override {
    return records_.on_workers(progress, std::move(workers));
  }
  Status on_evaluation(const Progress& progress, Phase phase, const Evaluation& evaluation) override {
    DLHOST_TRY(records_.on_evaluation(progress, phase, evaluation));
    return other_ ? other_->on_evaluation(progress, phase, evaluation) : Status();
  }

 private:
  Recorder& records_;
  Observer* const other_; // null: there is none
};

} // namespace

Status Coordinator::tell_samples(const Session& session) {
  DLHOST_ASSIGN(const auto found, samples_found(session));
  if (found.empty()) return {};
  environment_.terminal().write(concat("samples  ", to_string(found, 9), "\n"));
  for (const auto& remark : remarks(found, class_names(session)))
    environment_.terminal().write(concat("note: ", remark, "\n"));
  return {};
}

// Prints how the job differs from the run's saved one, by --set or another file.
Status Coordinator::tell_changes() {
  const auto kept = record::RunFolder::job_above(disk_, start_.resume);
  if (!kept.ok()) return {}; // a checkpoint outside of its run's folder
  DLHOST_ASSIGN(const std::string before, disk_.read_text(*kept));
  for (const auto& change : config::changes(before, job_text()))
    environment_.terminal().write(concat("changed: ", change, "\n"));
  return {};
}

// Kills a worker. Worker 0 is this process: the missing leader is the answer.
Status Coordinator::kill(Training& training, std::uint32_t worker) {
  if (worker == 0) environment_.processes().kill(environment_.processes().own());
  return training.kill(worker);
}

// Trains and writes all records. Returns the status of the training.
Status Coordinator::train(Session& session, Training& training, bool resumed) {
  record::Progress progress(host().clock(), environment_.terminal());
  Checkpoints checkpoints(session, checkpoint_folder(), static_cast<std::size_t>(job_.checkpoint.keep));
  Checkpoints points(session, folder_->file("recovery"), 1);
  if (job_.checkpoint.keep > 0) training.keep_in(&checkpoints);
  training.await_room_by(
      [&](const LastSave& last) { return environment_.await_room(folder_->path(), job_.checkpoint.wait, last); });
  if (recovery_.on()) training.recover_from(&points, began_elsewhere_ || job_.topology.replicas > 1);
  training.replace_by([&](const Status& why) { return recovery_.goes_on(why, training.progress().step); },
                      [&](const record::Replacement& replacement) { replacements_.push_back(replacement); },
                      why_again_);
  Checkpoints tested(session, checkpoint_folder() + "/testing", 1); // the best one is moved out of here
  if (job_.topology.testing_group) training.test_beside(&tested);
  if (!scaling_) scaling_.emplace(disk_, folder_->path());
  const std::uint64_t first_step = training.progress().step;
  const bool warm = warms_up(job_, first_step);
  const auto is_to_balance = [&] { return run::is_to_balance(session.job(), training.progress().step - first_step); };
  training.stand_still_for(
      [&, warm] {
        return is_asked() || (warm && !warms_up(job_, training.progress().step)) || is_to_balance() ||
               (members_ && members_->has_changed());
      },
      &points);
  const bool alone = plan::Place::seats(session.job().topology) == 1;
  const bool contribute = plan::Place::contribute_to_servers(session.job().topology);
  if (!is_among_others() && job_.record.ledger && (contribute || disk_.exists(folder_->file("ledger")))) {
    DLHOST_ASSIGN(auto ledger, begin_ledger(host(), folder_->path(), session.job(), job_text()));
    training.keep_ledger_in(env::absolute_path(ledger.folder), std::move(ledger.of));
  }
  DLHOST_ASSIGN(auto log, record::MetricsLog::open(host(), *folder_,
                                                   {.tensorboard = job_.record.tensorboard,
                                                    .resumed = resumed || recovery_.past().times > 0,
                                                    .resumed_from = first_step}));
  Recorder recorder(progress, *log, job_.record.every, training.progress());
  std::unique_ptr<record::WorkersLog> workers;
  if (!alone) {
    DLHOST_ASSIGN(workers, record::WorkersLog::open(host(), *folder_));
    recorder.record_workers(workers.get());
  }
  if (start_.measures) training.program().measure(&host().clock());
  outcome_ = [&] {
    const auto end = [this] { return environment_.interrupt(), Status(); };
    const Steered steered(host(), folder_->path(), end, [&](std::uint32_t worker) { return kill(training, worker); });
    BothObservers observers(recorder, environment_.observer());
    return training.run(observers);
  }();
  const auto last = recorder.finish(training.progress(), training.program());
  add_outcome(summary_, outcome_);
  environment_.add_end(summary_, session, outcome_);
  if (outcome_.error.ok()) summary_.ledgers = training.heads();
  summary_.recoveries = recovery_.past().times;
  summary_.replacements = replacements_;
  if (last.ok()) summary_.train.assign(last->metrics.begin(), last->metrics.end());
  if (training.progress().step == first_step) tell_last_record();
  DLHOST_TRY(outcome_.error);
  DLHOST_TRY(last.status());
  DLHOST_TRY(unless_full(log->sync()));
  stands_ = outcome_.ending == Ending::standing;
  if (stands_ && is_to_balance()) unbalanced_ = std::exchange(job_, balanced(job_, outcome_.workers));
  return stands_ ? Status() : write_end(session, training, first_step);
}

Status Coordinator::write_end(Session& session, Training& training, std::uint64_t first_step) {
  DLHOST_TRY(unless_full(write_summary()));
  training.dismiss(); // before files that another process would continue from are removed
  DLHOST_TRY(training.part());
  if (job_.checkpoint.keep > 0) disk_.remove(folder_->file("recovery")).ignore("it takes room and does no harm");
  if (job_.topology.testing_group)
    disk_.remove(checkpoint_folder() + "/testing").ignore("it takes room and does no harm");
  show_summary();
  return environment_.end(session, training, *folder_, outcome_, outcome_.progress.step - first_step);
}

// A full disk is only a warning here: the params are saved already.
Status Coordinator::unless_full(Status written) {
  if (written.code() != Code::no_space) return written;
  host().log().write(LogLevel::warning, written.message());
  return {};
}

// Reads the last training metrics of a run that had made its last step before it was resumed or lost its leader.
void Coordinator::tell_last_record() {
  const auto curves = record::read_curves(disk_, folder_->path());
  if (curves.ok()) summary_.train = record::recorded_at(*curves, "train", summary_.steps);
}

void Coordinator::tell_failure(const Status& status) {
  summary_.status = "failed";
  summary_.reason = env::printable(status.message(), env::longest_message);
  write_summary().ignore("what ended the run is what has to be told");
  summary_.reason.clear(); // printed below the table
  show_summary();
}

} // namespace dlhost::run
