// Prepares curves for drawing: a panel for each metric with a line for each run and phase, smoothed if noise would hide
// the course. chart_svg and chart_text decide only the looks.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/status.h>

#include "record/curves.h"
#include "tools/chart/axis.h"

namespace dlhost::tools {

enum class XAxis : unsigned char { step, epoch, seconds };
std::string_view name_of(XAxis);

// A closed interval.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool holds(double value) const { return low <= value && value <= high; }
};
// "100..2000", "100.." or "..2000"; none: malformed text.
std::optional<Range> range_named(const std::string& text);

struct PanelOptions {
  XAxis x = XAxis::step;
  std::vector<std::string> metrics; // empty: all metrics of layers
  bool logarithmic = false;         // applies to losses; with `metrics`, to all of them
  Range x_range, y_range;           // the drawn part; default: all
  double smooth = 0.02;             // the part of a training curve over which a point is averaged; 0: none
};

struct Sample {
  double x = 0;
  double y = 0;
};

struct Line {
  std::size_t run = 0; // index of the run
  std::string phase;
  std::vector<Sample> raw;
  std::vector<Sample> smooth; // empty: raw is smooth enough
  const std::vector<Sample>& main() const { return smooth.empty() ? raw : smooth; }
};

struct Panel {
  std::string metric;
  std::vector<Line> lines;
  bool logarithmic = false;
  Range range = {}; // of y; infinite ends: those of the lines

  // The axes fit the main lines; raw curves behind smoothed ones may go beyond.
  Axis x_axis(int ticks) const;
  Axis y_axis(int ticks) const;
};

// Errors: an unknown metric; the message names the known ones.
Result<std::vector<Panel>> panels_of(std::span<const record::Curves> runs, const PanelOptions&);

// Averages each sample with its neighbours up to `radius` samples away, three times: nearly a bell curve. Does not
// average across a gap (NaN).
std::vector<Sample> smoothed(std::span<const Sample>, std::size_t radius);

} // namespace dlhost::tools
