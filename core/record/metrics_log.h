// metrics.jsonl and the TensorBoard file of a run folder: the measurements of a run, one record after another. Owned by
// the run loop. Thread: one. Each record is written whole at once, so that a crash loses none.
//
// A line of metrics.jsonl is one JSON object:
//   {"step":40,"epoch":1.25,"seconds":0.5,"phase":"train","rate":0.1,"metrics":{"loss":0.7},"items_per_second":5000}
//   {"step":40,"epoch":1.25,"seconds":0.5,"phase":"validation","metrics":{"loss":0.8},"items_per_second":9000}
//   {"step":40,"phase":"resumed","resumed_from":40}    earlier lines of later steps no longer count
// Infinite and NaN numbers become null.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>

#include "record/patient_log.h"
#include "record/report.h"
#include "record/run_folder.h"
#include "record/tensorboard.h"

namespace dlhost::record {

struct MetricsLogOptions {
  bool tensorboard = true;
  bool resumed = false;
  std::uint64_t resumed_from = 0; // the checkpoint's step
};

class MetricsLog {
 public:
  static Result<std::unique_ptr<MetricsLog>> open(Host&, const RunFolder&, const MetricsLogOptions& = {});

  Status train(const StepReport&);
  Status evaluation(const EvaluationReport&);
  // Call once at the end: afterwards the records survive a power loss. Errors: Code::no_space if the last ones could
  // not be written.
  Status sync();

 private:
  // A metric's name quoted for JSON, cached.
  struct Key {
    std::string name;
    std::string quoted;
  };

  MetricsLog(PatientLog lines, std::unique_ptr<Tensorboard> events);
  const std::string& quoted(const std::string& name);
  void add_number(std::string_view key, double);
  void add_metrics(Metrics);
  Status finish_line();
  Status write_events(std::uint64_t step);

  PatientLog lines_;
  std::unique_ptr<Tensorboard> events_;
  std::vector<Key> keys_;
  std::string line_; // reused, so that records allocate nothing
};

} // namespace dlhost::record
