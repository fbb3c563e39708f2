#include "run/coordinator/training.h"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/compose.h"
#include "env/process/usage.h"
#include "param/store/initialize.h"
#include "record/json_fault.h"
#include "run/recovery/resume_position.h"

namespace dlhost::run {

Training::Training(Session& session, const std::atomic<bool>& interrupted)
    : session_(session), interrupted_(interrupted),
      evaluations_(session, {.settle = [this] { return settle(); }, .state = [this] { return state(); }}) {}

Status Training::prepare() {
  const config::Job& job = session_.job();
  started_bytes_ = env::resident_bytes();
  if (plan::Place::has_seats(job.topology)) {
    DLHOST_ASSIGN(workers_, Workers::make(session_, make_crew_));
    if (!bequeathed_.empty()) DLHOST_TRY(workers_->bequeath(bequeathed_));
    workers_->tell_processes_by(tell_processes_);
  }
  DLHOST_ASSIGN(program_, session_.trainer());
  if (workers_) DLHOST_TRY(workers_->join());
  DLHOST_TRY(param::initialize(session_.store(), session_.registry(), session_.activity(),
                               static_cast<std::uint64_t>(job.seed)));
  if (session_.samples(Phase::train) == 0) return {}; // it only loads params: else Session::open() refuses the job
  DLHOST_ASSIGN(feeds_, Feeds::make(session_, *program_, Phase::train, job.train.batch));
  samples_.emplace(session_, *feeds_);
  if (workers_) watch_.emplace(session_.host().clock(), *feeds_, workers_->leader());
  DLHOST_ASSIGN(rates_, Rates::make(session_, *feeds_));
  beginning_ = beginning(nlohmann::json::object());
  progress_.total_steps = rates_->total_steps();
  return {};
}

Result<std::optional<param::Taken>> Training::start() {
  const config::Job& job = session_.job();
  const config::Start& start = job.train.start;
  if (start.from.empty()) return std::optional<param::Taken>();
  const auto file = start_tensors(session_.host(), config::join_path(job.folder, start.from));
  auto taken = file.ok() ? param::take(*file, start.names, session_.store()) : Result<param::Taken>(file.status());
  if (!taken.ok()) return config::invalid_at(job.place("train.init_from"), taken.status().message());
  return std::optional(*std::move(taken));
}

nlohmann::json Training::state() const {
  const auto* const scaled = std::as_const(*program_).loss_scale();
  const auto& scale = scaled ? scaled->state() : loss_scale_;
  const nlohmann::json loss_scale{scale.value, scale.went_well, scale.skipped};
  const nlohmann::json workers = workers_ ? workers_state(session_.job(), workers_->reached()) : nlohmann::json();
  nlohmann::json data = feeds_ ? feeds_->state(progress_.step) : nlohmann::json::array();
  if (samples_) samples_->write(data);
  nlohmann::json state{{"step", progress_.step},          {"workers", workers},
                       {"epoch", progress_.epoch},        {"seconds", progress_.seconds},
                       {"items", progress_.items},        {"saved", {saved_.step, saved_.epoch, saved_.seconds}},
                       {"loss_scale", loss_scale},        {"data", std::move(data)},
                       {"ledgers", ledgers_state(heads_)}};
  evaluations_.write(state);
  loss_.write(state);
  return state;
}

Status Training::kill(std::uint32_t worker) {
  if (!workers_) return Status::invalid("there is no worker ", worker, ": the run is one process, worker 0");
  return workers_->kill(worker);
}

Status Training::settle() {
  if (!workers_) return {};
  DLHOST_TRY(workers_->settle());
  heads_.add(workers_->heads());
  return {};
}

Status Training::save_to(Checkpoints& checkpoints) {
  DLHOST_TRY(settle());
  return checkpoints.save(progress_.step, state());
}

// If the disk is full, training continues without this checkpoint: logs a warning and returns false.
Result<bool> Training::saved_or_full(Status saved) {
  if (saved.ok()) return true;
  if (saved.code() != Code::no_space) return saved;
  ++unsaved_;
  session_.host().log().write(
      LogLevel::warning, concat(saved.message(), ". The run goes on; the next checkpoint is tried when it is due"));
  return false;
}

Status Training::save_last() {
  Status saved = save();
  if (saved.code() != Code::no_space || !await_room_) return saved;
  return await_room_({.full = std::move(saved),
                      .again = [this] { return save(); },
                      .elsewhere =
                          [this](const auto& folder) {
                            Checkpoints there(session_, folder, std::numeric_limits<std::size_t>::max());
                            return save_to(there);
                          }});
}

// Saves the state that outlived a dead worker as a recovery point. Without such state, the run continues from its
// newest point.
void Training::salvage() {
  const auto all = [this]() -> Status {
    DLHOST_ASSIGN(const auto reached, workers_->salvage());
    evaluations_.restore(before_pause_.evaluations);
    saved_ = before_pause_.saved; // the last step is repeated, with the evaluations and saves after it
    const nlohmann::json there = moved(state(), session_.job(), *feeds_, reached, workers_->heads());
    return points_->save(there.at("step"), there);
  };
  if (Status status = all(); !status.ok() && status.code() != Code::not_found)
    session_.host().log().write(LogLevel::warning,
                                concat("the state that outlived the dead worker is not saved: ", status.message()));
}

// The steps of all workers, if all have made the same number.
std::vector<std::uint64_t> Training::steps_of_all(std::uint64_t step) const {
  return std::vector<std::uint64_t>(plan::Place::seats(session_.job().topology), step);
}

// If the consistency handler and the arrangement are those of the checkpoint, each worker continues from its own step.
// Otherwise all workers begin at the step of the checkpoint, with its version.
param::StartPoint Training::beginning(const nlohmann::json& state) const {
  const config::Topology& topology = session_.job().topology;
  const std::size_t seats = plan::Place::seats(topology);
  const auto others = static_cast<std::size_t>(topology.server_groups - 1);
  param::StartPoint beginning{.version = progress_.step,
                              .others = std::vector<Version>(others, progress_.step),
                              .steps = steps_of_all(progress_.step)};
  const auto workers = state.value("workers", nlohmann::json());
  if (!workers.is_object() || workers.at("consistency") != topology.consistency.type) return beginning;
  beginning.version = workers.at("version");
  const auto versions = workers.value("others", std::vector<Version>());
  if (versions.size() != others) {
    beginning.others.assign(others, beginning.version); // all server groups get the first one's values
    return beginning;
  }
  beginning.others = versions;
  if (workers.at("steps").size() != seats) return beginning;
  beginning.steps = workers.at("steps").get<std::vector<std::uint64_t>>();
  beginning.slices = slices_of(workers.value("slices", nlohmann::json::array()));
  beginning.own_values = workers.value("own_values", true);
  return beginning;
}

// Throws: nlohmann::json::exception.
Status Training::take(const nlohmann::json& state) {
  progress_.step = state.at("step");
  progress_.epoch = state.at("epoch");
  progress_.seconds = state.at("seconds");
  progress_.items = state.at("items");
  saved_ = secured_ = LastTime::at(progress_);
  if (state.contains("saved")) { // a recovery point is no checkpoint
    const auto& saved = state.at("saved");
    saved_ = {saved.at(0), saved.at(1), saved.at(2)};
  }
  written_ = saved_.step;
  evaluations_.read(state);
  beginning_ = beginning(state);
  DLHOST_ASSIGN(heads_, ledgers_of(state));
  const auto data = state.value("data", nlohmann::json::array());
  if (std::exchange(holds_to_samples_, false)) {
    DLHOST_TRY(samples_->look());
    DLHOST_TRY(samples_->compare(data));
  }
  beginning_.origins = feeds_->origins(data, progress_.step);
  if (!feeds_->reads_as(data)) beginning_.steps = steps_of_all(progress_.step);
  loss_.read(state);
  if (const auto scale = state.value("loss_scale", nlohmann::json()); scale.is_array())
    loss_scale_ = {scale.at(0), scale.at(1), scale.at(2)};
  return {};
}

Status Training::go_to_position() {
  program_->resume_at(progress_.step - loss_scale_.skipped); // even if it now computes in another type, without a scale
  DLHOST_TRY(feeds_->move(beginning_.origins));
  DLHOST_TRY(feeds_->seek(progress_.step));
  DLHOST_ASSIGN(rates_, Rates::make(session_, *feeds_)); // anew: the number of steps depends on the feeds' position
  progress_.total_steps = rates_->total_steps();
  return {};
}

// The newest point has the evaluations and the like, which no worker has; they are moved to the step that the group had
// reached.
Status Training::rejoin(const std::optional<param::CheckpointFiles>& files) {
  const param::StartPoint& left = *workers_->left();
  DLHOST_TRY(feeds_->move(left.origins));
  try {
    const nlohmann::json before = files ? files->manifest->at("run").at("training") : state();
    DLHOST_TRY(take(moved(before, session_.job(), *feeds_, left, {})));
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(files ? concat(files->folder, "/manifest.json") : "the start of this run",
                           ": its training state is damaged: ", record::json_fault(error));
  }
  ledger_ = left.ledger;
  ledger_of_ = left.ledger_of;
  return go_to_position();
}

Status Training::resume(const param::CheckpointFiles& files, bool rearranged) {
  const auto rule = session_.updater().rule();
  DLHOST_TRY(param::read_checkpoint(files, session_.store(), &rule));
  try {
    DLHOST_TRY(take(files.manifest->at("run").at("training")));
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(files.folder, "/manifest.json: its training state is damaged: ", record::json_fault(error));
  }
  if (session_.sharing()) DLHOST_TRY(resume_workers(files));
  if (progress_.step > 0 && !rearranged) // else no step was computed with the differences, or they are intended
    for (const auto& difference : Checkpoints::differences(files, session_))
      session_.host().log().write(LogLevel::warning, fmt::format("{}: this run differs from the one that wrote it: {}",
                                                                 files.folder, difference));
  if (program_->loss_scale()) program_->loss_scale()->restore(loss_scale_);
  return go_to_position();
}

// Reads the workers' own values, if the checkpoint has those of the same workers. Otherwise they start with the
// servers'.
Status Training::resume_workers(const param::CheckpointFiles& files) {
  const auto workers = session_.sharing()->own_values();
  if (workers.empty()) beginning_.own_values = false;
  if (!beginning_.own_values) return {};
  DLHOST_ASSIGN(beginning_.own_values, param::read_workers(files, session_.store(), workers));
  return {};
}

Result<bool> Training::step() {
  if (watch_) watch_->begin();
  before_pause_ = {evaluations_.kept(), saved_};
  DLHOST_ASSIGN(const auto* batch, feeds_->next());
  DLHOST_ASSIGN(progress_.rate, rates_->at(progress_.step));
  if (workers_) DLHOST_TRY(workers_->go(progress_.step, progress_.rate));
  Status status = program_->run(*batch, session_.step_info(progress_.step, feeds_->epoch(), progress_.rate));
  if (status.ok() && workers_) status = workers_->gather(progress_.step, program_->metrics());
  if (status.code() == Code::cancelled) return diverged(status);
  DLHOST_TRY(std::move(status));
  if (watch_) watch_->end();
  ++progress_.step;
  progress_.items += feeds_->valid(progress_.step - 1);
  progress_.epoch = feeds_->epochs(progress_.step);
  return true;
}

Result<bool> Training::diverged(const Status& status) {
  DLHOST_ASSIGN(const auto where, program_->find_not_finite());
  diverged_ =
      status.message() + (where.empty() ? "" : "; " + where) + "; a smaller rate, warm-up or clip_norm often help";
  return false;
}

// Takes results of the testing group, if there is one, and waits for those that are still to come.
Status Training::hear(Outcome& outcome, Observer& observer) {
  DLHOST_TRY(evaluations_.hear(observer, true));
  note_reason(outcome);
  return {};
}

void Training::note_reason(Outcome& outcome) {
  if (std::string reason = evaluations_.take_reason(); !reason.empty()) outcome.reason = std::move(reason);
}

Status Training::save_due(Outcome& outcome, Observer& observer) {
  const config::Job& job = session_.job();
  if (evaluations_.take_new_best()) { // the evaluation has just settled the workers
    DLHOST_ASSIGN(const bool saved, saved_or_full(checkpoints_->save_best(progress_.step, state())));
    if (!saved) evaluations_.restore_best();
  }
  if (checkpoints_ && is_due(job.checkpoint.every, progress_, saved_)) {
    DLHOST_TRY(hear(outcome, observer)); // the checkpoint includes the evaluation
    DLHOST_ASSIGN(const bool saved, saved_or_full(save()));
    if (!saved) return {};
    written_ = progress_.step;
    if (job.checkpoint.folder.empty()) secured_ = saved_; // a folder of the user's may serve another run too
    return {};
  }
  // A dead leader's evaluations survive only in recovery points, so a point follows each evaluation.
  const Evaluations::Kept& last = evaluations_.kept();
  const bool judged =
      job.topology.replicas > 1 && (last.validated.step == progress_.step || last.tested.step == progress_.step);
  if (!points_ || !(is_due(job.recovery.every, progress_, secured_) || judged)) return {};
  DLHOST_TRY(hear(outcome, observer));
  return saved_or_full(save_to(*points_)).status();
}

std::string Training::reason_to_stop(const Outcome& outcome) {
  const config::Stop& stop = session_.job().train.stop;
  if (!outcome.reason.empty()) return outcome.reason;
  if (progress_.total_steps > 0 && progress_.step >= progress_.total_steps)
    return fmt::format("{} steps done", progress_.step);
  if (stop.seconds > 0 && progress_.seconds >= stop.seconds)
    return fmt::format("{:.1f} s of training done", progress_.seconds);
  if (loss_.is_at_most(stop.loss)) return fmt::format("the loss reached {:.5g}", loss_.smoothed());
  if (const std::int64_t worse = evaluations_.kept().worse; stop.patience > 0 && worse >= stop.patience)
    return fmt::format("no better validation in {} evaluations", worse);
  return {};
}

Status Training::steps(Outcome& outcome, Observer& observer) {
  Clock& clock = session_.host().clock();
  beginning_.ledger = ledger_;
  beginning_.ledger_of = ledger_of_;
  if (heads_.run != ledger_of_.run) heads_ = {.run = ledger_of_.run, .all = {}, .steps = {}}; // from another run
  before_pause_ = {evaluations_.kept(), saved_};
  if (workers_) DLHOST_TRY(workers_->begin(beginning_, progress_.total_steps));
  if (workers_ && may_replace_)
    workers_->replace_by({.may = may_replace_, .tell = tell_replaced_, .step = [this] { return progress_.step; }},
                         why_replaced_);
  has_begun_ = true;
  if (tell_processes_) tell_processes_();
  if (points_ && points_at_once_) DLHOST_TRY(save_to(*points_));
  if (workers_ && !bequeathed_.empty()) DLHOST_TRY(workers_->bequeath(bequeathed_));
  const double before = progress_.seconds;
  const Nanoseconds begin = clock.now();
  Nanoseconds evaluating = 0;
  // A run that was interrupted in its last step has no step left when it is resumed.
  while ((outcome.reason = reason_to_stop(outcome)).empty()) {
    const Nanoseconds step_begin = clock.now();
    DLHOST_ASSIGN(const bool converging, step());
    session_.hang_watch().step_done(clock.now() - step_begin);
    progress_.seconds = before + static_cast<double>(clock.now() - begin - evaluating) * 1e-9;
    if (!converging) {
      outcome.ending = Ending::diverged;
      outcome.reason = diverged_;
      return {};
    }
    loss_.add(program_->metrics());
    DLHOST_TRY(observer.on_step(progress_, *program_));
    if (workers_ && observer.asks_after_workers()) DLHOST_TRY(observer.on_workers(progress_, workers_->reports()));
    const Nanoseconds pause = clock.now();
    pace_.add(static_cast<double>(pause - step_begin) * 1e-9);
    if (checkpoints_ || points_) DLHOST_TRY(samples_->look()); // only the first call reads; saves include the result
    DLHOST_TRY(evaluations_.make_due(progress_, observer));
    note_reason(outcome);
    DLHOST_TRY(save_due(outcome, observer));
    evaluating += clock.now() - pause;
    if (interrupted_.load(std::memory_order_relaxed)) {
      outcome.ending = Ending::interrupted;
      outcome.reason = "asked to end";
      return {};
    }
    if (asked_ && asked_()) {
      outcome.ending = Ending::standing;
      return {};
    }
  }
  return {};
}

Outcome Training::run(Observer& observer) {
  Outcome outcome;
  const double before = progress_.seconds;
  outcome.started_bytes = started_bytes_;
  evaluations_.begin();
  const auto all = [&]() -> Status {
    DLHOST_TRY(steps(outcome, observer));
    if (outcome.ending == Ending::diverged) return {}; // the last checkpoint stays the newest
    DLHOST_TRY(hear(outcome, observer));
    if (workers_ && outcome.ending == Ending::finished && progress_.step == progress_.total_steps)
      DLHOST_TRY(workers_->finish(progress_.step));
    DLHOST_TRY(settle());
    if (outcome.ending == Ending::standing) return save_to(*standing_);
    if (checkpoints_ && written_ != progress_.step) {
      saved_ = LastTime::at(progress_);
      DLHOST_TRY(save_last());
    }
    return outcome.ending == Ending::interrupted ? Status() : evaluations_.make_last(progress_, observer);
  };
  outcome.error = all();
  if (workers_) outcome.error = workers_->explained(std::move(outcome.error));
  lost_ = outcome.error.code() == Code::gone && workers_ && !bequeathed_.empty() && session_.has_lost_device();
  const bool stays = outcome.error.code() == Code::gone && others_go_on(); // another attempt begins among these
  if (outcome.error.code() == Code::gone && points_ && !lost_ && !stays) salvage();
  if (!outcome.error.ok()) {
    outcome.ending = Ending::failed;
    outcome.reason = outcome.error.message();
  }
  outcome.progress = progress_;
  outcome.unsaved = unsaved_;
  outcome.validation = evaluations_.validation();
  outcome.test = evaluations_.test();
  outcome.best = evaluations_.best();
  outcome.rise = loss_.rise(progress_.step);
  outcome.seconds = progress_.seconds - before;
  outcome.load_seconds = static_cast<double>(feeds_->waited()) * 1e-9;
  if (workers_) {
    outcome.workers = workers_->reports();
    outcome.arrivals = workers_->arrivals();
    outcome.encoded = workers_->encoded();
    outcome.factored = workers_->factored();
    if (outcome.ending != Ending::finished && !lost_ && !stays)
      dismiss(); // no process may continue a run that was stopped
  }
  if (program_->loss_scale()) outcome.loss_scale = program_->loss_scale()->state();
  outcome.step_median = pace_.median();
  outcome.step_least = pace_.least();
  return outcome;
}

} // namespace dlhost::run
