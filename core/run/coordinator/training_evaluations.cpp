// Evaluations while a run trains and at its end, by its leader or by the testing group, and what they say of it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "run/coordinator/training.h"

namespace dlhost::run {
namespace {

// What was evaluated last: the last metric that is better high.
std::optional<double> accuracy_of(const Evaluation& evaluation) {
  std::optional<double> accuracy;
  for (const auto& [name, mean] : evaluation.metrics)
    if (!evaluation.rising.empty() && name == evaluation.rising.back()) accuracy = mean;
  return accuracy;
}

// The metric that chooses the best, and whether it is better high: the one of a name, else the accuracy, else the loss.
struct Judgement {
  std::string metric;
  double value;
  bool high;
};
std::optional<Judgement> judged_metric(const Evaluation& evaluation, const std::string& best) {
  const bool named = best != "auto" && best != "none";
  if (const auto accuracy = accuracy_of(evaluation); accuracy && !named)
    return Judgement{evaluation.rising.back(), *accuracy, true};
  const auto& metrics = evaluation.metrics;
  const auto found = named ? std::ranges::find(metrics, best, &MetricValues::value_type::first) : metrics.begin();
  if (found == metrics.end()) return {};
  return Judgement{found->first, found->second,
                   std::ranges::find(evaluation.rising, found->first) != evaluation.rising.end()};
}

} // namespace

Result<Evaluation> Training::evaluate(Phase phase, Observer& observer) {
  DLHOST_TRY(settle());
  DLHOST_ASSIGN(auto evaluation, run::evaluate(session_, phase));
  if (evaluation.samples > 0) DLHOST_TRY(observer.on_evaluation(progress_, phase, evaluation));
  return evaluation;
}

// Whether it is the best so far. What is not finite never is: nothing could be better than it afterwards.
void Training::judge(const Progress& at, const Evaluation& evaluation) {
  const auto judged = judged_metric(evaluation, session_.job().checkpoint.best);
  if (!judged) return;
  const auto& [metric, value, high] = *judged;
  is_best_ =
      std::isfinite(value) && (!judged_.best || (high ? value > judged_.best->value : value < judged_.best->value));
  best_before_ = judged_.best;
  judged_.worse = is_best_ ? 0 : judged_.worse + 1;
  if (is_best_) judged_.best = Best{metric, value, at.step, at.epoch, at.seconds};
}

Status Training::evaluate_due(Outcome& outcome, Observer& observer) {
  const config::Job& job = session_.job();
  const bool validates = due(job.validate.every, judged_.validated), tests = due(job.test.every, judged_.tested);
  if (tester_) {
    DLHOST_TRY(hear(outcome, observer, validates || tests));
    return validates || tests ? ask(validates, tests) : Status();
  }
  if (validates) {
    DLHOST_ASSIGN(auto found, evaluate(Phase::validate, observer));
    learn(outcome, Phase::validate, progress_, std::move(found));
  }
  if (tests) {
    DLHOST_ASSIGN(auto found, evaluate(Phase::test, observer));
    learn(outcome, Phase::test, progress_, std::move(found));
  }
  return {};
}

// Validation chooses the best; accuracy stops by it, or by tests where there is none.
void Training::learn(Outcome& outcome, Phase phase, const Progress& at, Evaluation found) {
  const bool validates = phase == Phase::validate;
  if (validates) judge(at, found);
  const auto accuracy = accuracy_of(found);
  const bool counts = validates || session_.samples(Phase::validate) == 0;
  if (counts && accuracy && *accuracy >= session_.job().train.stop.accuracy)
    outcome.reason = fmt::format("{} accuracy reached {:.4f}", validates ? "validation" : "test", *accuracy);
  (validates ? outcome.validation : outcome.test) = std::move(found);
}

Status Training::ask(bool validates, bool tests) {
  validates = validates && session_.samples(Phase::validate) > 0;
  tests = tests && session_.samples(Phase::test) > 0;
  if (!validates && !tests) return {};
  DLHOST_TRY(settle());
  DLHOST_TRY(tested_beside_->lend(progress_.step, state()));
  tester_->ask(
      {.at = progress_, .checkpoint = tested_beside_->path_of(progress_.step), .validates = validates, .tests = tests});
  return {};
}

// What was evaluated is the best there is: so it becomes that.
Status Training::hear(Outcome& outcome, Observer& observer, bool wait) {
  if (!tester_ || !(wait || tester_->has_answer())) return {};
  const auto progress = [&] { return session_.sharing() ? session_.sharing()->progress() : Status(); };
  DLHOST_ASSIGN(auto answer, tester_->answer(progress));
  if (!answer) return {};
  const auto& question = answer->question;
  const auto tell = [&](Phase phase, Evaluation& found) -> Status {
    DLHOST_TRY(observer.on_evaluation(question.at, phase, found));
    learn(outcome, phase, question.at, std::move(found));
    return {};
  };
  if (question.validates) DLHOST_TRY(tell(Phase::validate, answer->validation));
  if (question.tests) DLHOST_TRY(tell(Phase::test, answer->test));
  if (std::exchange(is_best_, false) && keeps_best()) DLHOST_TRY(checkpoints_->take_best(question.checkpoint));
  return {};
}

// What was evaluated after the last step anyway is known.
Status Training::last_evaluations(Outcome& outcome, Observer& observer) {
  const auto evaluate_last = [&](bool wanted, const Last& last, Phase phase, Evaluation& found) -> Status {
    if (!wanted || (last.step == progress_.step && found.samples > 0)) return {};
    DLHOST_ASSIGN(found, evaluate(phase, observer));
    return {};
  };
  const config::Job& job = session_.job();
  DLHOST_TRY(evaluate_last(job.validate.at_end, judged_.validated, Phase::validate, outcome.validation));
  if (job.test.at_end && keeps_best() && judged_.best->step != progress_.step) {
    const auto best = checkpoints_->open_best();
    if (best.ok()) return test_best(*best, outcome, observer);
    session_.host().log().write(LogLevel::warning,
                                concat(best.status().message(), "; the last params are tested in its place"));
  }
  return evaluate_last(job.test.at_end, judged_.tested, Phase::test, outcome.test);
}

// By a session of its own, as `dlhost eval` would: what this one has of params is the run's last, and others share it.
Status Training::test_best(const param::CheckpointFiles& best, Outcome& outcome, Observer& observer) {
  if (session_.samples(Phase::test) == 0) return {};
  DLHOST_ASSIGN(auto session, Session::open(session_.host(), session_.registry(), session_.job(), Purpose::reading));
  DLHOST_TRY(session->evaluator(Phase::test).status());
  DLHOST_TRY(param::read_checkpoint(best, session->store(), nullptr));
  DLHOST_ASSIGN(outcome.test, run::evaluate(*session, Phase::test));
  Progress then = progress_;
  then.step = judged_.best->step;
  then.epoch = judged_.best->epoch;
  then.seconds = judged_.best->seconds;
  return observer.on_evaluation(then, Phase::test, outcome.test);
}

} // namespace dlhost::run
