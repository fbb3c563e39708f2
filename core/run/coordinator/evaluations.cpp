#include "run/coordinator/evaluations.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "param/table/table.h"

namespace dlhost::run {
namespace {

// The last metric of the evaluation for which higher is better.
std::optional<double> accuracy_of(const Evaluation& evaluation) {
  std::optional<double> accuracy;
  for (const auto& [name, mean] : evaluation.metrics)
    if (!evaluation.rising.empty() && name == evaluation.rising.back()) accuracy = mean;
  return accuracy;
}

// The metric that chooses the best checkpoint, and whether higher is better: the named one, else the accuracy, else the
// loss.
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

void Evaluations::test_beside(Checkpoints* tested) {
  tester_ = std::make_unique<Tester>(session_.host(), session_.registry(), session_.job());
  tested_beside_ = tested;
}

void Evaluations::begin() {
  validation_ = test_ = {};
  reason_.clear();
}

Result<Evaluation> Evaluations::evaluate(const Progress& at, Phase phase, Observer& observer) {
  DLHOST_TRY(training_.settle());
  DLHOST_ASSIGN(auto evaluation, run::evaluate(session_, phase));
  if (evaluation.samples > 0) DLHOST_TRY(observer.on_evaluation(at, phase, evaluation));
  return evaluation;
}

// Decides whether the evaluation is the best so far. A value that is not finite never is: no later value could beat it.
void Evaluations::judge(const Progress& at, const Evaluation& evaluation) {
  const auto judged = judged_metric(evaluation, session_.job().checkpoint.best);
  if (!judged) return;
  const auto& [metric, value, high] = *judged;
  is_best_ = std::isfinite(value) && (!kept_.best || (high ? value > kept_.best->value : value < kept_.best->value));
  best_before_ = kept_.best;
  kept_.worse = is_best_ ? 0 : kept_.worse + 1;
  if (is_best_) kept_.best = Best{metric, value, at.step, at.epoch, at.seconds};
}

Status Evaluations::make_due(const Progress& now, Observer& observer) {
  const config::Job& job = session_.job();
  const bool validates = is_due(job.validate.every, now, kept_.validated),
             tests = is_due(job.test.every, now, kept_.tested);
  if (tester_) {
    DLHOST_TRY(hear(observer, validates || tests));
    return validates || tests ? ask(now, validates, tests) : Status();
  }
  if (validates) {
    DLHOST_ASSIGN(auto found, evaluate(now, Phase::validate, observer));
    learn(now, Phase::validate, std::move(found));
  }
  if (tests) {
    DLHOST_ASSIGN(auto found, evaluate(now, Phase::test, observer));
    learn(now, Phase::test, std::move(found));
  }
  return {};
}

// Validation chooses the best. Accuracy stops the run: that of validation, or of tests if there is no validation.
void Evaluations::learn(const Progress& at, Phase phase, Evaluation found) {
  const bool validates = phase == Phase::validate;
  if (validates) judge(at, found);
  const auto accuracy = accuracy_of(found);
  const bool counts = validates || session_.samples(Phase::validate) == 0;
  if (counts && accuracy && *accuracy >= session_.job().train.stop.accuracy)
    reason_ = fmt::format("{} accuracy reached {:.4f}", validates ? "validation" : "test", *accuracy);
  (validates ? validation_ : test_) = std::move(found);
}

Status Evaluations::ask(const Progress& now, bool validates, bool tests) {
  validates = validates && session_.samples(Phase::validate) > 0;
  tests = tests && session_.samples(Phase::test) > 0;
  if (!validates && !tests) return {};
  DLHOST_TRY(training_.settle());
  DLHOST_TRY(tested_beside_->lend(now.step, training_.state()));
  tester_->ask({.at = now, .checkpoint = tested_beside_->path_of(now.step), .validates = validates, .tests = tests});
  return {};
}

// If the evaluated checkpoint is the best so far, it is kept as the best.
Status Evaluations::hear(Observer& observer, bool wait) {
  if (!tester_ || !(wait || tester_->has_answer())) return {};
  const auto progress = [&] { return session_.sharing() ? session_.sharing()->table().progress() : Status(); };
  DLHOST_ASSIGN(auto answer, tester_->answer(progress));
  if (!answer) return {};
  const auto& question = answer->question;
  const auto tell = [&](Phase phase, Evaluation& found) -> Status {
    DLHOST_TRY(observer.on_evaluation(question.at, phase, found));
    learn(question.at, phase, std::move(found));
    return {};
  };
  if (question.validates) DLHOST_TRY(tell(Phase::validate, answer->validation));
  if (question.tests) DLHOST_TRY(tell(Phase::test, answer->test));
  if (take_new_best()) DLHOST_TRY(checkpoints_->take_best(question.checkpoint));
  return {};
}

Status Evaluations::make_last(const Progress& now, Observer& observer) {
  const auto evaluate_last = [&](bool wanted, const LastTime& last, Phase phase, Evaluation& found) -> Status {
    if (!wanted || (last.step == now.step && found.samples > 0)) return {};
    DLHOST_ASSIGN(found, evaluate(now, phase, observer));
    return {};
  };
  const config::Job& job = session_.job();
  DLHOST_TRY(evaluate_last(job.validate.at_end, kept_.validated, Phase::validate, validation_));
  if (job.test.at_end && keeps_best() && kept_.best->step != now.step) {
    const auto best = checkpoints_->open_best();
    if (best.ok()) return test_best(now, *best, observer);
    session_.host().log().write(LogLevel::warning,
                                concat(best.status().message(), "; the last params are tested in its place"));
  }
  return evaluate_last(job.test.at_end, kept_.tested, Phase::test, test_);
}

// Uses a separate session, like `dlhost eval`: this session's params are the run's last ones and are shared.
Status Evaluations::test_best(const Progress& now, const param::CheckpointFiles& best, Observer& observer) {
  if (session_.samples(Phase::test) == 0) return {};
  DLHOST_ASSIGN(auto session, Session::open(session_.host(), session_.registry(), session_.job(), Purpose::reading));
  DLHOST_TRY(session->evaluator(Phase::test).status());
  DLHOST_TRY(param::read_checkpoint(best, session->store(), nullptr));
  DLHOST_ASSIGN(test_, run::evaluate(*session, Phase::test));
  Progress then = now;
  then.step = kept_.best->step;
  then.epoch = kept_.best->epoch;
  then.seconds = kept_.best->seconds;
  return observer.on_evaluation(then, Phase::test, test_);
}

void Evaluations::write(nlohmann::json& training) const {
  const auto last = [](const LastTime& at) { return nlohmann::json{at.step, at.epoch, at.seconds}; };
  training["tested"] = last(kept_.tested);
  training["validated"] = last(kept_.validated);
  training["worse"] = kept_.worse;
  training["best"] = training["best_at"] = nullptr;
  if (const auto& best = kept_.best) {
    training["best"] = best->value;
    training["best_at"] = {best->metric, best->step, best->epoch, best->seconds};
  }
}

void Evaluations::read(const nlohmann::json& training) {
  const auto last = [](const nlohmann::json& at) { return LastTime{at.at(0), at.at(1), at.at(2)}; };
  kept_.validated = last(training.at("validated"));
  kept_.tested = last(training.at("tested"));
  if (const auto& best = training.at("best"); !best.is_null()) {
    kept_.best = Best{.value = best};
    if (const auto at = training.value("best_at", nlohmann::json()); at.is_array())
      kept_.best = Best{at.at(0), best, at.at(1), at.at(2), at.at(3)};
  }
  kept_.worse = training.at("worse");
}

} // namespace dlhost::run
