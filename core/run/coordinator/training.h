// The training loop of one worker: steps, evaluations, stops. What it tells goes to an Observer, so that commands,
// benchmarks and tests watch the same loop.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "param/file/import_export.h"
#include "run/coordinator/tester.h"
#include "run/coordinator/workers.h"
#include "run/input/feeds.h"
#include "run/input/samples_print.h"
#include "run/session/checkpoints.h"
#include "run/session/evaluation.h"
#include "run/session/pace.h"
#include "run/session/progress.h"
#include "run/session/rates.h"
#include "run/session/session.h"
#include "run/worker/step_watch.h"

namespace dlhost::run {

class Observer {
 public:
  virtual ~Observer() = default;
  // After each step; cheap unless it prints. `metrics` are the program's running ones.
  virtual Status on_step(const Progress&, program::Program&) = 0;
  // Where there are several workers: whether it wants to know where they are, and where.
  virtual bool asks_after_workers() { return false; }
  virtual Status on_workers(const Progress&, std::vector<record::WorkerReport>) { return {}; }
  virtual Status on_evaluation(const Progress&, Phase, const Evaluation&) = 0;
};

enum class Ending : std::uint8_t { finished, interrupted, standing, diverged, failed };

// What validation found best so far, and where that was.
struct Best {
  std::string metric;
  double value = 0;
  std::uint64_t step = 0;
  double epoch = 0, seconds = 0;
};

struct Outcome {
  Ending ending = Ending::finished;
  std::string reason; // why it stopped
  Status error;       // failed: what ended it; the rest is what was reached
  Progress progress;
  double seconds = 0;                        // of training since it was resumed, or began
  double load_seconds = 0;                   // of them, spent waiting for input
  std::vector<record::WorkerReport> workers; // each, where there are several
  param::Arrivals arrivals;                  // where some may come too late
  record::Traffic encoded, factored;         // contributions of this worker that went through a codec, or as factors
  std::optional<program::LossScale::State> loss_scale; // of a net in f16
  double step_median = 0, step_least = 0;              // seconds
  std::uint64_t started_bytes = 0;                     // resident before the net was made
  Evaluation validation, test;                         // the last of each; the test is of the best, where one is kept
  std::optional<Best> best;                            // where one is kept
  struct Rise {
    double from = 0, to = 0;
  };
  std::optional<Rise> rise;  // of the loss, from the first step to the last ones
  std::uint64_t unsaved = 0; // checkpoints for which there was no room
};

// What is tried when there is no room for the last params: to save them where they belong, and in another folder.
struct LastSave {
  Status full; // why they are not saved
  std::function<Status()> again;
  std::function<Status(const std::string& folder)> elsewhere;
};

class Training {
 public:
  Training(Session& session, const std::atomic<bool>& interrupted) : session_(session), interrupted_(interrupted) {}

  // Where several workers are something else than run_as says.
  void employ(WorkerPool::Maker make_crew) { make_crew_ = std::move(make_crew); }
  // Builds the program and the first values; then start() or resume() may replace them.
  Status prepare();
  // Takes the values that the job's [train.init_from] names, if it does; says what it took.
  Result<std::optional<param::Taken>> start();
  // The next resume() refuses other samples than the checkpoint is of.
  void hold_to_samples() { holds_to_samples_ = true; }
  // After prepare(): what checkpoints know of the samples, and what a resumed run is held to, is of all of them. Reads
  // each once.
  Status read_all_samples();
  // Continues as if it had never stopped: params, histories, data position, what was best.
  // `rearranged`: by other programs than wrote it, on purpose.
  Status resume(const param::CheckpointFiles&, bool rearranged = false);
  // Checkpoints go there; without it none are written.
  void keep_in(Checkpoints* checkpoints) { checkpoints_ = checkpoints; }
  // Waits for room for the last params; what it returns is whether they are saved.
  void await_room_by(std::function<Status(const LastSave&)> await) { await_room_ = std::move(await); }
  // And between them there, for when one of several workers dies.
  // `at_once`: nothing in the run's folder says how it began.
  void recover_from(Checkpoints* points, bool at_once) {
    points_ = points;
    points_at_once_ = at_once;
  }
  // Looked at between steps: whether the run is to stand still, so that it can go on in another arrangement. It is
  // saved there then.
  void stand_still_for(std::function<bool()> asked, Checkpoints* points) {
    asked_ = std::move(asked);
    standing_ = points;
  }
  // Evaluations while it trains are made beside it, of what is written there for them.
  void test_beside(Checkpoints* tested) {
    tester_ = std::make_unique<Tester>(session_.host(), session_.registry(), session_.job());
    tested_beside_ = tested;
  }
  // Where there are several workers: who contributed to which version is written down in that folder
  // (param/server/ledger.h).
  void keep_ledger_in(std::string folder, record::LedgerOf of) {
    ledger_ = std::move(folder);
    ledger_of_ = std::move(of);
  }
  // After run(): how far those of all its attempts had come when it was last saved, or ended.
  const record::LedgerHeads& heads() const { return heads_; }
  // Where there are several workers: those that are lost are replaced while the others go on, where that can be.
  void replace_by(std::function<bool(const Status&)> may, std::function<void(const record::Replacement&)> tell) {
    may_replace_ = std::move(may);
    tell_replaced_ = std::move(tell);
  }
  // If it is the leader, another goes on with the run in that folder, as soon as it says how the run began.
  void bequeath(std::string run) { bequeathed_ = std::move(run); }
  // After run(): its device is lost, and others of the run's processes go on once this one is gone.
  bool is_to_die() const { return lost_; }
  // Of the workers, where they are processes.
  std::vector<RunProcess> processes() { return workers_ ? workers_->processes() : std::vector<RunProcess>(); }
  // One of them, at once; by any task, once it is prepared.
  Status kill(std::uint32_t worker);
  Outcome run(Observer&);
  // After run() has come to its end, when all is written down that it came to: until then others can still take the
  // place of this one.
  void dismiss() {
    if (workers_) workers_->end();
  }
  // And waits for the others' processes. Not ok: a plugin's fault ended one of them after its work was done.
  Status part() { return workers_ ? workers_->part() : Status(); }
  // A checkpoint of the state as it is.
  Status save() { return save_to(*checkpoints_); }

  const Progress& progress() const { return progress_; }
  program::Program& program() { return *program_; }
  const program::Program& program() const { return *program_; }

 private:
  Status resume_workers(const param::CheckpointFiles&);
  Result<bool> step(); // false: diverged
  Result<bool> diverged(const Status&);
  Status steps(Outcome&, Observer&);
  void note_loss();
  Status last_evaluations(Outcome&, Observer&);
  Status evaluate_due(Outcome&, Observer&);
  void judge(const Progress& at, const Evaluation&);
  void learn(Outcome&, Phase, const Progress& at, Evaluation);
  // Whether there is a checkpoint of the best.
  bool keeps_best() const { return checkpoints_ && judged_.best && session_.job().checkpoint.best != "none"; }
  Status test_best(const param::CheckpointFiles&, Outcome&, Observer&);
  // From the testing group, if there is one; `wait`: also what is not there yet.
  Status hear(Outcome&, Observer&, bool wait);
  Status ask(bool validates, bool tests);
  Result<Evaluation> evaluate(Phase, Observer&);
  std::string reason_to_stop(const Outcome&);
  Status save_due(Outcome&, Observer&);
  void salvage();
  Status look_at_samples();
  Status compare_samples(const nlohmann::json& data) const;
  Status save_to(Checkpoints&);
  Status save_last();
  Result<bool> saved_or_full(Status);
  param::StartPoint beginning(const nlohmann::json& state) const;
  Status settle();
  nlohmann::json state() const;

  // When something is due again.
  struct Last {
    std::uint64_t step = 0;
    double epoch = 0, seconds = 0;
  };
  bool due(const config::Cadence&, Last&) const;
  Last now() const { return {progress_.step, progress_.epoch, progress_.seconds}; }

  Session& session_;
  const std::atomic<bool>& interrupted_;
  WorkerPool::Maker make_crew_ = WorkerPool::make;
  std::unique_ptr<Workers> workers_; // null: one
  std::vector<std::uint64_t> steps_of_all(std::uint64_t step) const;
  param::StartPoint beginning_; // of them
  program::Program* program_ = nullptr;
  std::unique_ptr<Feeds> feeds_;
  std::optional<StepWatch> watch_; // of one of several workers
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
  std::unique_ptr<Tester> tester_; // null: the leader evaluates
  Checkpoints* tested_beside_ = nullptr;
  std::string bequeathed_, ledger_; // run; folder
  record::LedgerOf ledger_of_;
  record::LedgerHeads heads_;
  bool lost_ = false; // its device
  std::function<bool(const Status&)> may_replace_;
  std::function<void(const record::Replacement&)> tell_replaced_;
  // What the pause behind a step decides; where a worker dies in it, the step and its pause are made once more.
  struct Judged {
    Last validated, tested, saved;
    std::optional<Best> best; // of what checkpoint.best_by names; none yet, or none that was finite
    std::int64_t worse = 0;   // evaluations since
  };
  Judged judged_, before_pause_;
  std::optional<Best> best_before_; // the newest evaluation
  Last secured_;
  bool is_best_ = false; // the newest evaluation was
  double smoothed_loss_ = 0;
  std::optional<double> first_loss_;     // none: the run was resumed
  program::LossScale::State loss_scale_; // as it was resumed with
  bool has_loss_ = false;
  std::vector<SamplesPrint> samples_; // of each source; empty: nobody has looked at them
  bool holds_to_samples_ = false;
};

} // namespace dlhost::run
