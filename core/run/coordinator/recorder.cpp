#include "run/coordinator/recorder.h"

#include <cmath>
#include <utility>

namespace dlhost::run {

const record::StepReport& Recorder::read(Since& since, const Progress& progress, const program::Program& program,
                                         std::uint64_t steps) {
  recent_.read(program.metrics(), steps, since.means);
  const double seconds = progress.seconds - since.seconds;
  since.report = {.step = progress.step,
                  .total_steps = progress.total_steps,
                  .epoch = progress.epoch,
                  .seconds = progress.seconds,
                  .metrics = since.means,
                  .items_per_second = seconds > 0 ? static_cast<double>(progress.items - since.items) / seconds : 0,
                  .rate = progress.rate};
  since.step = progress.step;
  since.items = progress.items;
  since.seconds = progress.seconds;
  return since.report;
}

// Metrics are means since the last record; the norm is the step's.
const record::StepReport& Recorder::record(const Progress& progress, const program::Program& program) {
  constexpr const char* name = "gradient_norm";
  std::erase_if(logged_.means, [](const auto& metric) { return metric.first == name; });
  read(logged_, progress, program, progress.step - logged_.step);
  if (const auto norm = program.gradient_norm()) {
    logged_.means.emplace_back(name, *norm);
    logged_.report.metrics = logged_.means;
  }
  return logged_.report;
}

bool Recorder::due(const Progress& now) {
  const auto passed = [](double every, double before, double after) {
    constexpr double rounding = 1e-9; // an epoch's last step may end a hair before it
    return every > 0 && std::floor(after / every + rounding) > std::floor(before / every + rounding);
  };
  const Progress before = std::exchange(before_, now);
  if (every_.never()) return false;
  return now.step == 1 ||
         passed(static_cast<double>(every_.steps), static_cast<double>(before.step), static_cast<double>(now.step)) ||
         passed(every_.epochs, before.epoch, now.epoch) || passed(every_.seconds, before.seconds, now.seconds);
}

Status Recorder::on_step(const Progress& progress, program::Program& program) {
  stepped_ = true;
  recent_.add(program.metrics());
  if (due(progress)) DLHOST_TRY(log_.train(record(progress, program)));
  // The last step is shown as its record has it, when all is over.
  if (progress_.due(progress.epoch) && progress.step != progress.total_steps)
    progress_.step(read(shown_, progress, program, RecentAverages::longest));
  return {};
}

Result<record::StepReport> Recorder::finish(const Progress& progress, const program::Program& program) {
  Status logged;
  if (!stepped_)
    logged_.report = {.step = progress.step,
                      .total_steps = progress.total_steps,
                      .epoch = progress.epoch,
                      .seconds = progress.seconds,
                      .metrics = {},
                      .items_per_second = 0,
                      .rate = progress.rate};
  else if (logged_.report.step != progress.step)
    logged = log_.train(record(progress, program));
  progress_.finish(logged_.report);
  DLHOST_TRY(logged);
  return logged_.report;
}

Status Recorder::on_evaluation(const Progress& progress, Phase phase, const Evaluation& evaluation) {
  const record::EvaluationReport report{
      .phase = phase == Phase::test ? "test" : "validation",
      .step = progress.step,
      .epoch = progress.epoch,
      .seconds = progress.seconds,
      .metrics = evaluation.metrics,
      .tables = evaluation.tables,
      .items_per_second = evaluation.seconds > 0 ? static_cast<double>(evaluation.samples) / evaluation.seconds : 0};
  progress_.evaluation(report);
  return log_.evaluation(report);
}

} // namespace dlhost::run
