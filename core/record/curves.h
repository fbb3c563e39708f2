// The curves of a run, read back from its metrics.jsonl: what `dlhost plot` draws. Pure functions, but for the disk.
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
  double value = 0; // NaN where the run had no finite number
};

// What one metric did in one phase. The learning rate and the speed are curves of the phase "train", too.
struct Curve {
  std::string metric;
  std::string phase;
  std::vector<CurvePoint> points; // in the order of the steps
};

struct Curves {
  std::string run; // the folder's name, for a legend
  std::vector<Curve> curves;
};

// From the text of a metrics.jsonl. Where the run was resumed, what does not count any more is left out; a last line
// that was cut short, too. `path` is for the messages.
Result<Curves> parse_curves(std::string_view text, const std::string& path);

// From a run folder, or from the file itself.
Result<Curves> read_curves(Disk&, const std::string& path);

// Of the last record of a run folder; 0 where there is none.
std::uint64_t last_step(Disk&, const std::string& folder);

// The metrics of a phase in the record of just that step, as they stand in it; none where there is none.
std::vector<std::pair<std::string, double>> recorded_at(const Curves&, std::string_view phase, std::uint64_t step);

// The names of curves that are no metrics of a layer.
bool is_vital_sign(std::string_view metric); // "rate", "items_per_second"

} // namespace dlhost::record
