#include "run/coordinator/run_summary.h"

#include "config/dump.h"

namespace dlhost::run {
namespace {

const char* status_of(Ending ending) {
  switch (ending) {
  case Ending::finished: return "done";
  case Ending::interrupted: return "interrupted";
  case Ending::standing: return "running";
  case Ending::diverged:
  case Ending::failed: return "failed";
  }
  return "";
}

} // namespace

record::Summary summary_of_start(Session& session, const record::RunFolder& folder) {
  record::Summary summary;
  summary.status = "running";
  summary.job_hash = config::job_hash(session.job());
  if (const auto program = session.trainer(); program.ok()) summary.plan_hash = plan::hash((*program)->plan());
  summary.job_name = session.job().name;
  summary.folder = folder.path();
  return summary;
}

void add_outcome(record::Summary& summary, const Outcome& outcome) {
  summary.status = status_of(outcome.ending);
  summary.reason = outcome.reason;
  summary.steps = outcome.progress.step;
  summary.epochs = outcome.progress.epoch;
  summary.seconds = outcome.progress.seconds;
  summary.validation = outcome.validation.metrics;
  summary.test = outcome.test.metrics;
  summary.validation_tables = outcome.validation.tables;
  summary.test_tables = outcome.test.tables;
  if (outcome.best) summary.best = record::Summary::Best{outcome.best->metric, outcome.best->value, outcome.best->step};
  if (outcome.progress.seconds > 0)
    summary.items_per_second = static_cast<double>(outcome.progress.items) / outcome.progress.seconds;
  summary.step_median = outcome.step_median;
  summary.step_least = outcome.step_least;
  summary.input_wait_seconds = outcome.load_seconds;
  summary.workers = outcome.workers;
  summary.contributions = outcome.arrivals.came;
  summary.late_contributions = outcome.arrivals.late;
  summary.encoded = outcome.encoded;
  summary.factored = outcome.factored;
  if (const auto& scale = outcome.loss_scale)
    summary.loss_scale = record::Summary::LossScale{.value = scale->value, .skipped_steps = scale->skipped};
  summary.unsaved_checkpoints = outcome.unsaved;
  summary.started_rss_bytes = outcome.started_bytes;
}

} // namespace dlhost::run
