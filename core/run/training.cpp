#include "run/training.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/compose.h"
#include "env/usage.h"
#include "param/initialize.h"
#include "plugin/contained.h"
#include "run/hang_watch.h"

namespace dlhost::run {

namespace {

// What was evaluated last: the last metric that is better high.
std::optional<double> accuracy_of(const Evaluation& evaluation) {
  std::optional<double> accuracy;
  for (const auto& [name, mean] : evaluation.metrics)
    if (!evaluation.rising.empty() && name == evaluation.rising.back()) accuracy = mean;
  return accuracy;
}

} // namespace

Status Training::prepare() {
  const config::Job& job = session_.job();
  if (session_.samples(Phase::train) == 0)
    return Status::invalid("source '", session_.sources()[0].name, "' has no training samples; give it a `train` file");
  started_bytes_ = env::resident_bytes();
  DLHOST_ASSIGN(program_, session_.trainer());
  DLHOST_TRY(param::initialize(session_.store(), session_.registry(), session_.activity(),
                               static_cast<std::uint64_t>(job.seed)));
  DLHOST_ASSIGN(feeds_, Feeds::make(session_, *program_, Phase::train, job.train.batch));
  const Part& rate = job.updater.rate;
  DLHOST_ASSIGN(schedule_, session_.registry().create<Schedule>(rate.type, rate.options));
  DLHOST_ASSIGN(schedule_actor_, session_.registry().actor(Kind::schedule, rate.type, rate.type));
  DLHOST_TRY(schedule_->setup(session_.host()));
  const config::Stop& stop = job.train.stop;
  if (stop.epochs > 0) progress_.total_steps = feeds_->steps(stop.epochs);
  if (stop.steps > 0 && (progress_.total_steps == 0 || static_cast<std::uint64_t>(stop.steps) < progress_.total_steps))
    progress_.total_steps = static_cast<std::uint64_t>(stop.steps);
  if (progress_.total_steps == 0 && stop.seconds <= 0 && !std::isfinite(stop.loss) && !std::isfinite(stop.accuracy) &&
      stop.patience == 0)
    progress_.total_steps = feeds_->steps(10);
  return {};
}

Result<std::optional<param::Taken>> Training::start() {
  const config::Start& start = session_.job().train.start;
  if (start.from.empty()) return std::optional<param::Taken>();
  DLHOST_ASSIGN(const auto file,
                start_tensors(session_.host().disk(), config::join_path(session_.job().folder, start.from)));
  DLHOST_ASSIGN(auto taken, param::take(file, start.names, session_.store()));
  return std::optional(std::move(taken));
}

nlohmann::json Training::state() const {
  const auto last = [](const Last& at) { return nlohmann::json{at.step, at.epoch, at.seconds}; };
  return {{"step", progress_.step},
          {"epoch", progress_.epoch},
          {"seconds", progress_.seconds},
          {"items", progress_.items},
          {"validated", last(validated_)},
          {"tested", last(tested_)},
          {"best", best_},
          {"worse", worse_},
          {"smoothed_loss", smoothed_loss_},
          {"has_loss", has_loss_}};
}

Status Training::save() { return checkpoints_->save(progress_.step, state()); }

Status Training::resume(const param::CheckpointFiles& files) {
  const auto rule = session_.updater().rule();
  DLHOST_TRY(param::read_checkpoint(files, session_.store(), &rule));
  try {
    const auto& state = files.manifest->at("run").at("training");
    const auto last = [&](const char* key) {
      return Last{state.at(key).at(0), state.at(key).at(1), state.at(key).at(2)};
    };
    progress_.step = state.at("step");
    progress_.epoch = state.at("epoch");
    progress_.seconds = state.at("seconds");
    progress_.items = state.at("items");
    validated_ = last("validated");
    tested_ = last("tested");
    saved_ = {progress_.step, progress_.epoch, progress_.seconds};
    best_ = state.at("best");
    worse_ = state.at("worse");
    smoothed_loss_ = state.at("smoothed_loss");
    has_loss_ = state.at("has_loss");
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(files.folder, "/manifest.json: its training state is damaged: ", error.what());
  }
  for (const auto& difference : Checkpoints::differences(files, session_))
    session_.host().log().write(LogLevel::warning, fmt::format("{}: this run is not quite the one that wrote it: {}",
                                                               files.folder, difference));
  program_->resume_at(progress_.step);
  feeds_->seek(progress_.step);
  return {};
}

Result<double> Training::rate() {
  return plugin::contained(session_.activity(), schedule_actor_, "rate", progress_.step, [&]() -> Result<double> {
    return schedule_->rate({progress_.step, progress_.epoch, progress_.total_steps});
  });
}

Result<bool> Training::step() {
  const config::Job& job = session_.job();
  DLHOST_ASSIGN(const auto* batch, feeds_->next());
  DLHOST_ASSIGN(progress_.rate, rate());
  const Status status = program_->run(*batch, {.phase = Phase::train,
                                               .step = progress_.step,
                                               .epoch = feeds_->epoch(),
                                               .seed = static_cast<std::uint64_t>(job.seed),
                                               .global_batch = job.train.batch,
                                               .rate = progress_.rate});
  if (status.code() == Code::cancelled) {
    DLHOST_ASSIGN(const auto where, program_->find_not_finite());
    diverged_ =
        status.message() + (where.empty() ? "" : "; " + where) + "; a smaller rate, warm-up or clip_norm often help";
    return false;
  }
  DLHOST_TRY(status);
  ++progress_.step;
  progress_.items += batch->valid;
  progress_.epoch = feeds_->epochs(progress_.step);
  return true;
}

bool Training::due(const config::Cadence& every, Last& last) const {
  const bool by_step = every.steps > 0 && progress_.step >= last.step + static_cast<std::uint64_t>(every.steps);
  const bool by_epoch = every.epochs > 0 && progress_.epoch + 1e-9 >= last.epoch + every.epochs;
  const bool by_time = every.seconds > 0 && progress_.seconds >= last.seconds + every.seconds;
  if (!by_step && !by_epoch && !by_time) return false;
  last = {progress_.step, progress_.epoch, progress_.seconds};
  return true;
}

Status Training::save_due() {
  if (!checkpoints_) return {};
  if (is_best_ && session_.job().checkpoint.best != "none")
    DLHOST_TRY(checkpoints_->save_best(progress_.step, state()));
  is_best_ = false;
  return due(session_.job().checkpoint.every, saved_) ? save() : Status();
}

Result<Evaluation> Training::evaluate(Phase phase) {
  DLHOST_ASSIGN(auto evaluation, run::evaluate(session_, phase));
  if (evaluation.samples > 0) DLHOST_TRY(observer_.on_evaluation(progress_, phase, evaluation));
  return evaluation;
}

Status Training::evaluate_due(Outcome& outcome) {
  const config::Job& job = session_.job();
  if (due(job.validate.every, validated_)) {
    DLHOST_ASSIGN(outcome.validation, evaluate(Phase::validate));
    if (!outcome.validation.metrics.empty()) {
      const auto accuracy = accuracy_of(outcome.validation);
      const bool high = accuracy.has_value();
      const double value = high ? *accuracy : outcome.validation.metrics.front().second;
      if (worse_ < 0 || (high ? value > best_ : value < best_)) {
        best_ = value;
        worse_ = 0;
        is_best_ = true;
      } else {
        ++worse_;
      }
      if (high && value >= job.train.stop.accuracy)
        outcome.reason = fmt::format("validation accuracy reached {:.4f}", value);
    }
  }
  if (due(job.test.every, tested_)) {
    DLHOST_ASSIGN(outcome.test, evaluate(Phase::test));
    if (session_.samples(Phase::validate) == 0) {
      const auto accuracy = accuracy_of(outcome.test);
      if (accuracy && *accuracy >= job.train.stop.accuracy)
        outcome.reason = fmt::format("test accuracy reached {:.4f}", *accuracy);
    }
  }
  return {};
}

std::string Training::reason_to_stop(const Outcome& outcome) {
  const config::Stop& stop = session_.job().train.stop;
  if (!outcome.reason.empty()) return outcome.reason;
  if (progress_.total_steps > 0 && progress_.step >= progress_.total_steps)
    return fmt::format("{} steps done", progress_.step);
  if (stop.seconds > 0 && progress_.seconds >= stop.seconds)
    return fmt::format("{:.1f} s of training done", progress_.seconds);
  if (has_loss_ && smoothed_loss_ <= stop.loss) return fmt::format("the loss reached {:.5g}", smoothed_loss_);
  if (stop.patience > 0 && worse_ >= stop.patience)
    return fmt::format("no better validation in {} evaluations", worse_);
  return {};
}

Result<Outcome> Training::run() {
  Outcome outcome;
  Clock& clock = session_.host().clock();
  HangWatch watch(session_.job().train.hang_limit);
  const double before = progress_.seconds;
  outcome.started_bytes = started_bytes_;
  Nanoseconds begin = clock.now(), evaluating = 0;
  // A run that was interrupted in its last step has none left when it is resumed.
  while ((outcome.reason = reason_to_stop(outcome)).empty()) {
    const Nanoseconds step_begin = clock.now();
    DLHOST_ASSIGN(const bool converging, step());
    watch.step_done(clock.now() - step_begin);
    progress_.seconds = before + static_cast<double>(clock.now() - begin - evaluating) * 1e-9;
    if (!converging) {
      outcome.ending = Ending::diverged;
      outcome.reason = diverged_;
      break;
    }
    for (const auto& metric : program_->metrics())
      if (metric.is_loss && metric.last_count > 0) {
        const double loss = metric.last_sum / metric.last_count;
        smoothed_loss_ = has_loss_ ? 0.98 * smoothed_loss_ + 0.02 * loss : loss;
        has_loss_ = true;
        break;
      }
    DLHOST_TRY(observer_.on_step(progress_, *program_));
    const Nanoseconds pause = clock.now();
    pace_.add(static_cast<double>(pause - step_begin) * 1e-9);
    DLHOST_TRY(evaluate_due(outcome));
    DLHOST_TRY(save_due());
    evaluating += clock.now() - pause;
    if (interrupted_.load(std::memory_order_relaxed)) {
      outcome.ending = Ending::interrupted;
      outcome.reason = "interrupted";
      break;
    }
  }
  outcome.progress = progress_;
  outcome.seconds = progress_.seconds - before;
  outcome.load_seconds = feeds_->waited_seconds();
  outcome.step_median = pace_.median();
  outcome.step_least = pace_.least();
  if (outcome.ending == Ending::diverged) return outcome; // the last checkpoint stays the newest
  if (checkpoints_ && saved_.step != progress_.step) DLHOST_TRY(save());
  if (outcome.ending == Ending::interrupted) return outcome;
  if (session_.job().validate.at_end) {
    DLHOST_ASSIGN(outcome.validation, evaluate(Phase::validate));
  }
  if (session_.job().test.at_end) {
    DLHOST_ASSIGN(outcome.test, evaluate(Phase::test));
  }
  return outcome;
}

} // namespace dlhost::run
