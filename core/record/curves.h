// The curves of a run, read from its metrics.jsonl, for `dlhost plot`. Pure functions, except the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::record {

struct CurvePoint {
  double step = 0;
  double epoch = 0;
  double seconds = 0;
  double value = 0; // NaN: the run had no finite number
};

// The values of one metric in one phase. The learning rate and the speed are curves of the phase "train" as well.
struct Curve {
  std::string metric;
  std::string phase;
  std::vector<CurvePoint> points; // in the order of the steps
};

struct Curves {
  std::string run; // the folder's name, for a legend
  std::vector<Curve> curves;
};

// Parses the text of a metrics.jsonl. Leaves out steps that a resumed run repeats, and a last line that was cut short.
// `path`: for messages.
Result<Curves> parse_curves(std::string_view text, const std::string& path);

// `path`: a run folder, or the file itself.
Result<Curves> read_curves(Disk&, const std::string& path);

// The step of the last record in a run folder; 0: no record.
std::uint64_t last_step(Disk&, const std::string& folder);

// The metrics of a phase in the record of exactly that step, in its order; empty: no such record.
std::vector<std::pair<std::string, double>> recorded_at(const Curves&, std::string_view phase, std::uint64_t step);

// Whether a curve is not a metric of a layer.
bool is_vital_sign(std::string_view metric); // "rate", "items_per_second"

} // namespace dlhost::record
