#include "program/step_results.h"

#include <algorithm>
#include <cmath>

namespace dlhost::program {

void StepResults::find(const std::vector<Unit>& units, const Slots& slots, int frames, bool training) {
  for (int f = 0; f < frames; ++f)
    for (const auto& unit : units)
      for (const auto& spec : unit.described->setup.metrics) {
        const std::string name = unit.described->metric_name(spec);
        const bool counts = unit.part.computes && unit.part.counts[spec.output];
        const SlotId slot = counts ? slots.in_frame(unit.outputs.at(spec.output), f) : no_slot;
        if (!spec.table)
          metrics_.push_back({.name = name,
                              .node = unit.node,
                              .better_high = spec.better_high,
                              .is_loss = unit.described->setup.is_loss,
                              .slot = slot});
        else if (!training)
          add_table(name, slot, slots[slot].desc.shape);
      }
  metric_values_.resize(metrics_.size() * 2);
}

void StepResults::add_table(const std::string& name, SlotId slot, const Shape& shape) {
  CountTable table{.last = {.name = name,
                            .rows = static_cast<std::size_t>(shape[0]),
                            .columns = static_cast<std::size_t>(shape.past(1))},
                   .slot = slot};
  table.last.counts.resize(table.last.rows * table.last.columns);
  table_values_.resize(std::max(table_values_.size(), table.last.counts.size()));
  tables_.push_back(std::move(table));
}

Status StepResults::copy_metrics(Device& device, Stream& stream, const Slots& slots) {
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    if (metrics_[m].slot == no_slot) continue; // another worker's counts
    const Slot& slot = slots[metrics_[m].slot];
    if (slot.on_host || device.traits().host_memory)
      std::copy_n(static_cast<const float*>(slot.data), 2, &metric_values_[2 * m]);
    else
      DLHOST_TRY(device.copy(stream, &metric_values_[2 * m], slot.data, 2 * sizeof(float), Direction::to_host));
  }
  return {};
}

Status StepResults::take_metrics(std::uint64_t step) {
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    Metric& metric = metrics_[m];
    metric.last_sum = static_cast<double>(metric_values_[2 * m]);
    metric.last_count = static_cast<double>(metric_values_[2 * m + 1]);
    if (metric.is_loss && !std::isfinite(metric.last_sum))
      return Status::cancelled("the loss '", metric.name, "' is ",
                               std::isnan(metric.last_sum) ? "not a number" : "infinite", " in step ", step);
  }
  return {};
}

Status StepResults::read_tables(Device& device, Stream& stream, const Slots& slots) {
  for (auto& table : tables_) {
    const Slot& slot = slots[table.slot];
    const std::span values(table_values_.data(), table.last.counts.size());
    if (slot.on_host || device.traits().host_memory) {
      std::copy_n(static_cast<const float*>(slot.data), values.size(), values.data());
    } else {
      DLHOST_TRY(device.copy(stream, values.data(), slot.data, values.size_bytes(), Direction::to_host));
      DLHOST_TRY(stream.wait());
    }
    std::copy(values.begin(), values.end(), table.last.counts.begin());
  }
  return {};
}

} // namespace dlhost::program
