// The metrics and the count tables of a step, read from the program's memory after its last feature. Owns: their values
// on the host. Thread: the program's.
#pragma once

#include <string>
#include <vector>

#include "program/unit.h"
#include "record/table.h"

namespace dlhost::program {

struct Metric {
  std::string name; // its layer's name; plus ".metric" if the layer has several
  std::size_t node = 0;
  bool better_high = false;
  bool is_loss = false;
  double last_sum = 0, last_count = 0; // of the last step
  SlotId slot = no_slot;               // no_slot: this worker contributes nothing to it
};

// A table of counts, summed by an evaluation.
struct CountTable {
  record::Table last; // of the last step
  SlotId slot = no_slot;
};

class StepResults {
 public:
  // Finds the metrics of all units, and the tables of an evaluating program: no caller reads tables of training steps.
  void find(const std::vector<Unit>&, const Slots&, int frames, bool training);

  const std::vector<Metric>& metrics() const { return metrics_; }
  std::vector<Metric>& metrics() { return metrics_; }
  const std::vector<CountTable>& tables() const { return tables_; }

  // Queues the copies of the metrics.
  Status copy_metrics(Device&, Stream&, const Slots&);
  // Takes the copies. Requires: the stream was waited for. Errors: Code::cancelled for a loss that is not finite.
  Status take_metrics(std::uint64_t step);
  // Waits for the stream, if there are tables on a device.
  Status read_tables(Device&, Stream&, const Slots&);

 private:
  void add_table(const std::string& name, SlotId, const Shape&);

  std::vector<Metric> metrics_;
  std::vector<CountTable> tables_;
  std::vector<float> metric_values_, table_values_;
};

} // namespace dlhost::program
