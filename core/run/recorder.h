// Tells people and programs about a training run while it goes on: the progress line, metrics.jsonl, TensorBoard.
#pragma once

#include "record/metrics_log.h"
#include "record/progress.h"
#include "run/training.h"

namespace dlhost::run {

class Recorder final : public Observer {
 public:
  Recorder(Clock& clock, record::Progress& progress, record::MetricsLog& log)
      : clock_(clock), progress_(progress), log_(log) {}

  Status on_step(const Progress&, program::Program&) override;
  Status on_evaluation(const Progress&, Phase, const Evaluation&) override;
  // After the last step: the progress line's end. The report stays valid.
  const record::StepReport& finish(const Progress&, program::Program&);

 private:
  void read(const Progress&, program::Program&);

  Clock& clock_;
  record::Progress& progress_;
  record::MetricsLog& log_;
  MetricValues metrics_;
  record::StepReport report_;
  std::int64_t items_ = 0;
  double seconds_ = 0;
  Nanoseconds shown_ = 0;
};

} // namespace dlhost::run
