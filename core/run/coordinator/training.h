// The training loop of the run's leader, or of a worker that trains alone: steps, evaluations, checkpoints, and the
// reasons to stop. It reports to an Observer, so that commands, benchmarks and tests use the same loop.
//
// Order of calls: the setters, prepare(), start() or resume(), run(), dismiss(), part().
// Thread: one, except kill().
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "param/file/import_export.h"
#include "run/coordinator/evaluations.h"
#include "run/coordinator/loss_trend.h"
#include "run/coordinator/observer.h"
#include "run/coordinator/workers.h"
#include "run/input/feeds.h"
#include "run/input/known_samples.h"
#include "run/session/checkpoints.h"
#include "run/session/pace.h"
#include "run/session/progress.h"
#include "run/session/rates.h"
#include "run/session/session.h"
#include "run/worker/step_watch.h"

namespace dlhost::run {

enum class Ending : std::uint8_t { finished, interrupted, standing, diverged, failed };

struct Outcome {
  Ending ending = Ending::finished;
  std::string reason; // the reason why it stopped
  Status error;       // of Ending::failed; the other members have what was reached
  Progress progress;
  double seconds = 0;                        // of training, since the start or the resume
  double load_seconds = 0;                   // of these, the time that it waited for input
  std::vector<record::WorkerReport> workers; // empty: one worker trained alone
  param::Arrivals arrivals;                  // counted only if contributions can be late
  record::Traffic encoded, factored;         // this worker's contributions that were encoded, or sent as factors
  std::optional<program::LossScale::State> loss_scale; // of a net in f16
  double step_median = 0, step_least = 0;              // seconds
  std::uint64_t started_bytes = 0;                     // resident memory before the net was made
  Evaluation validation, test;                         // the last of each; if a best is kept, the test is of the best
  std::optional<Best> best;                            // set if a best checkpoint is kept
  std::optional<LossTrend::Rise> rise;                 // set if the loss has risen from the first step to the last ones
  std::uint64_t unsaved = 0;                           // checkpoints that were not written because the disk was full
};

// The ways to save the last params after the disk was full: again in the same place, or in another folder.
struct LastSave {
  Status full; // the error of the first attempt
  std::function<Status()> again;
  std::function<Status(const std::string& folder)> elsewhere;
};

class Training {
 public:
  Training(Session& session, const std::atomic<bool>& interrupted);

  // Replaces the pool of workers that run_as asks for.
  void employ(WorkerPool::Maker make_crew) { make_crew_ = std::move(make_crew); }
  // Builds the program and the initial values, which start() or resume() may replace.
  Status prepare();
  // Takes the values that the job's [train.init_from] names, and returns which. None: the job names none.
  Result<std::optional<param::Taken>> start();
  // The next resume() refuses a checkpoint of other samples.
  void hold_to_samples() { holds_to_samples_ = true; }
  // Reads every sample once, so that checkpoints identify all samples, and hold_to_samples() compares all. Default: a
  // few samples stand for all. Requires: after prepare().
  Status read_all_samples() { return samples_->read_all(); }
  // Continues from a checkpoint as if the run had not stopped: params, histories, data position, best validation.
  // `rearranged`: the arrangement of workers has changed on purpose, so no warning about differences is logged.
  Status resume(const param::CheckpointFiles&, bool rearranged = false);
  // Continues among server groups that went on without the first one: from what this one had learned. `files`: the
  // newest point, for what no worker has: evaluations, items, losses; none: it was not written yet.
  Status rejoin(const std::optional<param::CheckpointFiles>& files);
  // Writes checkpoints there. Default: none are written.
  void keep_in(Checkpoints* checkpoints) {
    checkpoints_ = checkpoints;
    evaluations_.keep_best_in(checkpoints);
  }
  // Called if the disk is full when the last params are saved: waits for room, and returns ok if they are saved.
  void await_room_by(std::function<Status(const LastSave&)> await) { await_room_ = std::move(await); }
  // Writes recovery points there, between checkpoints, for the death of a worker. `at_once`: also at the beginning,
  // because the run's folder has no other record of the start values.
  void recover_from(Checkpoints* points, bool at_once) {
    points_ = points;
    points_at_once_ = at_once;
  }
  // `asked` is called between steps. If it returns true, the run is saved in `points` and stops (Ending::standing), so
  // that it can continue in another arrangement.
  void stand_still_for(std::function<bool()> asked, Checkpoints* points) {
    asked_ = std::move(asked);
    standing_ = points;
  }
  // A testing group makes the evaluations during training, of params that are written there.
  void test_beside(Checkpoints* tested) { evaluations_.test_beside(tested); }
  // With several workers: servers keep their ledgers in that folder (param/server/ledger.h).
  void keep_ledger_in(std::string folder, record::LedgerOf of) {
    ledger_ = std::move(folder);
    ledger_of_ = std::move(of);
  }
  // After run(): the heads of the ledgers of all attempts, at the last save or at the end.
  const record::LedgerHeads& heads() const { return heads_; }
  // With several workers: if the job allows it, lost server groups are replaced while the run continues. `why`: the
  // first one, because of that, by rejoin().
  void replace_by(std::function<bool(const Status&)> may, std::function<void(const record::Replacement&)> tell,
                  std::string why) {
    may_replace_ = std::move(may);
    tell_replaced_ = std::move(tell);
    why_replaced_ = std::move(why);
  }
  // Called when workers have other processes, and when all have begun. Call it before prepare().
  void tell_processes_by(std::function<void()> tell) { tell_processes_ = std::move(tell); }
  // True: this attempt's workers have begun.
  bool has_begun() const { return has_begun_; }
  // After a death: whether another attempt may begin among the groups that go on. Default: none may.
  void rejoin_if(std::function<bool()> may) { may_rejoin_ = std::move(may); }
  // As Workers' functions of these names.
  bool others_go_on() { return workers_ && workers_->others_go_on() && may_rejoin_ && may_rejoin_(); }
  GoingOn going_on() { return workers_ ? workers_->going_on() : GoingOn(); }
  void let_go() { workers_->let_go(); }
  // If this process dies, another one may continue the run in that folder, once the start is recorded there.
  void bequeath(std::string run) { bequeathed_ = std::move(run); }
  // After run(): true if the device is lost and other processes continue the run when this one has ended.
  bool is_to_die() const { return lost_; }
  // The workers' processes. Empty: they are tasks, or there is one worker.
  std::vector<RunProcess> processes() { return workers_ ? workers_->processes() : std::vector<RunProcess>(); }
  // Kills a worker at once. Thread: any. Requires: after prepare().
  Status kill(std::uint32_t worker);
  Outcome run(Observer&);
  // Tells the other workers that the run is over. Requires: after run(), and the results are written: until then
  // another process can take this one's place.
  void dismiss() {
    if (workers_) workers_->end();
  }
  // Waits until the other workers' processes have ended. Errors: a plugin's fault ended one of them after its work.
  Status part() { return workers_ ? workers_->part() : Status(); }
  // Writes a checkpoint of the present state.
  Status save() { return save_to(*checkpoints_); }

  const Progress& progress() const { return progress_; }
  program::Program& program() { return *program_; }
  const program::Program& program() const { return *program_; }

 private:
  // Takes over all but values from a training state.
  Status take(const nlohmann::json& state);
  Status go_to_position();
  Status resume_workers(const param::CheckpointFiles&);
  Result<bool> step(); // false: diverged
  Result<bool> diverged(const Status&);
  Status steps(Outcome&, Observer&);
  Status hear(Outcome&, Observer&);
  void note_reason(Outcome&);
  std::string reason_to_stop(const Outcome&);
  Status save_due(Outcome&, Observer&);
  void salvage();
  Status save_to(Checkpoints&);
  Status save_last();
  Result<bool> saved_or_full(Status);
  param::StartPoint beginning(const nlohmann::json& state) const;
  Status settle();
  nlohmann::json state() const;

  Session& session_;
  const std::atomic<bool>& interrupted_;
  WorkerPool::Maker make_crew_ = WorkerPool::make;
  std::unique_ptr<Workers> workers_; // null: one worker trains alone
  std::vector<std::uint64_t> steps_of_all(std::uint64_t step) const;
  param::StartPoint beginning_; // of the workers
  program::Program* program_ = nullptr;
  std::unique_ptr<Feeds> feeds_;
  std::optional<StepWatch> watch_; // set if there are several workers
  std::optional<Rates> rates_;
  std::uint64_t started_bytes_ = 0;
  Progress progress_;
  Pace pace_;
  std::string diverged_;
  Checkpoints* checkpoints_ = nullptr;
  std::uint64_t written_ = 0; // the step of the newest checkpoint
  std::uint64_t unsaved_ = 0;
  std::function<Status(const LastSave&)> await_room_; // null: a full disk ends the run
  Checkpoints* points_ = nullptr;
  bool points_at_once_ = false;
  std::function<bool()> asked_;
  Checkpoints* standing_ = nullptr;
  std::string bequeathed_, ledger_; // folders of the run and of the ledgers
  record::LedgerOf ledger_of_;
  record::LedgerHeads heads_;
  bool lost_ = false; // the device is lost
  std::function<bool(const Status&)> may_replace_;
  std::function<void(const record::Replacement&)> tell_replaced_;
  std::string why_replaced_;
  std::function<void()> tell_processes_;
  std::function<bool()> may_rejoin_;
  bool has_begun_ = false;
  Evaluations evaluations_;
  LossTrend loss_;
  LastTime saved_;   // the last checkpoint
  LastTime secured_; // the last save from which the run could recover
  // What evaluations and saves after a step change, as it was before the step. If a worker dies during them, the step
  // and they are repeated.
  struct BeforePause {
    Evaluations::Kept evaluations;
    LastTime saved;
  };
  BeforePause before_pause_;
  program::LossScale::State loss_scale_; // at the resume
  std::optional<KnownSamples> samples_;  // set by prepare()
  bool holds_to_samples_ = false;
};

} // namespace dlhost::run
