// Reports a training run while it goes on: the progress line, metrics.jsonl, TensorBoard.
#pragma once

#include "record/metrics_log.h"
#include "record/progress.h"
#include "run/coordinator/observer.h"

namespace dlhost::run {

class Recorder final : public Observer {
 public:
  // Writes a record after the first step and whenever a multiple of `every` is passed. So a run resumed at `from` has
  // its records at the same steps as an uninterrupted run.
  Recorder(record::Progress& progress, record::MetricsLog& log, const config::Cadence& every, const Progress& from)
      : progress_(progress), log_(log), every_(every), before_(from) {
    logged_.step = from.step;
  }
  void record_workers(record::WorkersLog* workers) { workers_ = workers; }

  Status on_step(const Progress&, program::Program&) override;
  bool asks_after_workers() override { return workers_ && workers_->due(); }
  Status on_workers(const Progress& progress, std::vector<record::WorkerReport> workers) override {
    return workers_->add(progress.step, std::move(workers));
  }
  Status on_evaluation(const Progress&, Phase, const Evaluation&) override;
  // Writes the record of the last step and ends the progress line. The report stays valid. A run that was resumed after
  // its last step writes no record and returns a report without metrics.
  Result<record::StepReport> finish(const Progress&, const program::Program&);

 private:
  // The sums since the last record or the last progress line.
  struct Since {
    std::uint64_t step = 0;
    std::int64_t items = 0;
    double seconds = 0;
    MetricValues means;
    record::StepReport report; // the last one
  };
  bool due(const Progress&);
  // `steps`: the number of recent steps over which metrics are averaged.
  const record::StepReport& read(Since&, const Progress&, const program::Program&, std::uint64_t steps);
  const record::StepReport& record(const Progress&, const program::Program&);

  record::Progress& progress_;
  record::MetricsLog& log_;
  record::WorkersLog* workers_ = nullptr; // null: not recorded
  config::Cadence every_;
  Progress before_;
  RecentAverages recent_;
  Since shown_, logged_;
  bool stepped_ = false;
};

} // namespace dlhost::run
