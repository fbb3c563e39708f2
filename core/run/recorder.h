// Tells people and programs about a training run while it goes on: the progress line, metrics.jsonl, TensorBoard.
#pragma once

#include "record/metrics_log.h"
#include "record/progress.h"
#include "run/training.h"

namespace dlhost::run {

class Recorder final : public Observer {
 public:
  Recorder(record::Progress& progress, record::MetricsLog& log) : progress_(progress), log_(log) {}

  Status on_step(const Progress&, program::Program&) override;
  Status on_evaluation(const Progress&, Phase, const Evaluation&) override;
  // After the last step: its record, and the progress line's end. The report, which is the record's, stays valid. A run
  // that was resumed after its last step made none: no record, and a report without metrics.
  Result<record::StepReport> finish(const Progress&, const program::Program&);

 private:
  // What happened since one of the two was last told.
  struct Since {
    Averages averages;
    std::int64_t items = 0;
    double seconds = 0;
    record::StepReport report; // the last
  };
  static const record::StepReport& read(Since&, const Progress&, const program::Program&);

  record::Progress& progress_;
  record::MetricsLog& log_;
  Since shown_, logged_;
  bool stepped_ = false;
};

} // namespace dlhost::run
