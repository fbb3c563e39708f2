// Curves made ready to be drawn: a panel for each metric, in it a line for each run and phase, smoothed where noise
// would hide the course. What draws them (chart_svg, chart_text) decides nothing but looks.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/status.h>

#include "tools/chart/axis.h"
#include "record/curves.h"

namespace dlhost::tools {

enum class XAxis : unsigned char { step, epoch, seconds };
std::string_view name_of(XAxis);

// Between them, these included.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool holds(double value) const { return low <= value && value <= high; }
};
// "100..2000", "100.." or "..2000"; none: it is no range.
std::optional<Range> range_named(const std::string& text);

struct PanelOptions {
  XAxis x = XAxis::step;
  std::vector<std::string> metrics; // empty: every metric of a layer
  bool logarithmic = false;         // losses; with `metrics`, all of them
  Range x_range, y_range;           // what is drawn; all of it
  double smooth = 0.02;             // the part of a training curve that a point is averaged over; 0 for none
};

struct Sample {
  double x = 0;
  double y = 0;
};

struct Line {
  std::size_t run = 0; // which of the runs
  std::string phase;
  std::vector<Sample> raw;
  std::vector<Sample> smooth; // empty where raw is smooth enough
  const std::vector<Sample>& main() const { return smooth.empty() ? raw : smooth; }
};

struct Panel {
  std::string metric;
  std::vector<Line> lines;
  bool logarithmic = false;
  Range range = {}; // of y; open ends are where the lines end

  // The ends of what the lines show; raw curves behind smoothed ones may reach beyond.
  Axis x_axis(int ticks) const;
  Axis y_axis(int ticks) const;
};

// An unknown metric is an error that names the known ones.
Result<std::vector<Panel>> panels_of(std::span<const record::Curves> runs, const PanelOptions&);

// Each sample averaged with its neighbours up to `radius` samples away, three times over: nearly a bell curve. Nothing
// is averaged across a gap (NaN).
std::vector<Sample> smoothed(std::span<const Sample>, std::size_t radius);

} // namespace dlhost::tools
