#include "run/recorder.h"

#include <algorithm>
#include <cmath>

namespace dlhost::run {
namespace {
constexpr Nanoseconds second = 1'000'000'000;
}

void Recorder::read(const Progress& progress, program::Program& program) {
  if (std::ranges::any_of(program.metrics(), [](const auto& metric) { return metric.count > 0; }))
    read_means(program.metrics(), metrics_);
  program.reset_metrics();
  const double seconds = progress.seconds - seconds_;
  report_ = {.step = progress.step,
             .total_steps = progress.total_steps,
             .epoch = progress.epoch,
             .seconds = progress.seconds,
             .metrics = metrics_,
             .items_per_second = seconds > 0 ? static_cast<double>(progress.items - items_) / seconds : 0,
             .rate = progress.rate};
  items_ = progress.items;
  seconds_ = progress.seconds;
}

Status Recorder::on_step(const Progress& progress, program::Program& program) {
  const bool log = log_.due(progress.step), show = progress_.due();
  if (!log && !show) return {};
  const bool epoch_ended = std::floor(progress.epoch + 1e-9) > std::floor(report_.epoch + 1e-9);
  read(progress, program);
  if (log) DLHOST_TRY(log_.train(report_));
  // Epochs of less than a second are no news each.
  const Nanoseconds now = clock_.now();
  if (epoch_ended && now - shown_ > second) {
    progress_.epoch_end(report_);
    shown_ = now;
  } else if (show) {
    progress_.step(report_);
    shown_ = now;
  }
  return {};
}

const record::StepReport& Recorder::finish(const Progress& progress, program::Program& program) {
  if (report_.step != progress.step) read(progress, program);
  progress_.finish(report_);
  return report_;
}

Status Recorder::on_evaluation(const Progress& progress, Phase phase, const Evaluation& evaluation) {
  const record::EvaluationReport report{
      .phase = phase == Phase::test ? "test" : "validation",
      .step = progress.step,
      .epoch = progress.epoch,
      .seconds = progress.seconds,
      .metrics = evaluation.metrics,
      .items_per_second = evaluation.seconds > 0 ? static_cast<double>(evaluation.samples) / evaluation.seconds : 0};
  progress_.evaluation(report);
  return log_.evaluation(report);
}

} // namespace dlhost::run
