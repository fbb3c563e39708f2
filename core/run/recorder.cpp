#include "run/recorder.h"

namespace dlhost::run {

const record::StepReport& Recorder::read(Since& since, const Progress& progress, const program::Program& program) {
  const double seconds = progress.seconds - since.seconds;
  since.report = {.step = progress.step,
                  .total_steps = progress.total_steps,
                  .epoch = progress.epoch,
                  .seconds = progress.seconds,
                  .metrics = since.averages.read(program.metrics()),
                  .items_per_second = seconds > 0 ? static_cast<double>(progress.items - since.items) / seconds : 0,
                  .rate = progress.rate};
  since.items = progress.items;
  since.seconds = progress.seconds;
  return since.report;
}

Status Recorder::on_step(const Progress& progress, program::Program& program) {
  stepped_ = true;
  shown_.averages.add(program.metrics());
  logged_.averages.add(program.metrics());
  if (log_.due(progress.step)) DLHOST_TRY(log_.train(read(logged_, progress, program)));
  if (progress_.due(progress.epoch)) progress_.step(read(shown_, progress, program));
  return {};
}

Result<record::StepReport> Recorder::finish(const Progress& progress, const program::Program& program) {
  if (!stepped_)
    logged_.report = {.step = progress.step,
                      .total_steps = progress.total_steps,
                      .epoch = progress.epoch,
                      .seconds = progress.seconds,
                      .metrics = {},
                      .items_per_second = 0,
                      .rate = progress.rate};
  else if (logged_.report.step != progress.step)
    DLHOST_TRY(log_.train(read(logged_, progress, program)));
  progress_.finish(logged_.report);
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
