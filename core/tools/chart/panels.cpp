#include "tools/chart/panels.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <dlhost/nearest.h>

namespace dlhost::tools {

namespace {

constexpr std::size_t too_few_to_smooth = 40;

double x_of(const record::CurvePoint& point, XAxis x) {
  switch (x) {
  case XAxis::step: return point.step;
  case XAxis::epoch: return point.epoch;
  case XAxis::seconds: return point.seconds;
  }
  return point.step;
}

std::vector<std::string> all_metrics(std::span<const record::Curves> runs) {
  std::vector<std::string> names;
  for (const record::Curves& run : runs)
    for (const record::Curve& curve : run.curves)
      if (std::ranges::find(names, curve.metric) == names.end()) names.push_back(curve.metric);
  return names;
}

// Whether the sum of all changes from sample to sample exceeds three times the curve's range.
bool is_noisy(std::span<const Sample> samples) {
  double low = INFINITY, high = -INFINITY, path = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!std::isfinite(samples[i].y)) continue;
    low = std::min(low, samples[i].y);
    high = std::max(high, samples[i].y);
    if (i > 0 && std::isfinite(samples[i - 1].y)) path += std::abs(samples[i].y - samples[i - 1].y);
  }
  return path > 3 * (high - low);
}

Line line_of(std::size_t run, const record::Curve& curve, const PanelOptions& options) {
  Line line{run, curve.phase, {}, {}};
  for (const record::CurvePoint& point : curve.points) line.raw.push_back({x_of(point, options.x), point.value});
  std::ranges::stable_sort(line.raw, {}, &Sample::x);
  if (curve.phase != "train" || options.smooth <= 0) return line;
  if (line.raw.size() < too_few_to_smooth || !is_noisy(line.raw)) return line;
  const double radius = options.smooth * static_cast<double>(line.raw.size()) / 2;
  line.smooth = smoothed(line.raw, static_cast<std::size_t>(std::max(radius, 2.0)));
  return line;
}

// Cuts after smoothing: samples outside of the range count for the smoothing.
Line cut(Line line, const Range& range) {
  const auto outside = [&](const Sample& sample) { return !range.holds(sample.x); };
  std::erase_if(line.raw, outside);
  std::erase_if(line.smooth, outside);
  return line;
}

// Replaces each sample by the value of the straight line fitted to its neighbours: their mean if both sides have
// equally many, and without bias at the ends.
void smooth_once(std::span<Sample> samples, std::size_t radius) {
  std::vector<double> sums(samples.size() + 1, 0), moments(samples.size() + 1, 0);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    sums[i + 1] = sums[i] + samples[i].y;
    moments[i + 1] = moments[i] + static_cast<double>(i) * samples[i].y;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t begin = i - std::min(radius, i), end = std::min(i + radius + 1, samples.size());
    const double count = static_cast<double>(end - begin), middle = static_cast<double>(begin + end - 1) / 2;
    const double mean = (sums[end] - sums[begin]) / count;
    // Sum of squared distances of begin..end-1 from their middle.
    const double spread = count * (count * count - 1) / 12;
    const double slope = spread > 0 ? (moments[end] - moments[begin] - middle * mean * count) / spread : 0;
    samples[i].y = mean + slope * (static_cast<double>(i) - middle);
  }
}

struct Ends {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

} // namespace

std::string_view name_of(XAxis x) {
  switch (x) {
  case XAxis::step: return "step";
  case XAxis::epoch: return "epoch";
  case XAxis::seconds: return "seconds";
  }
  return "step";
}

std::optional<Range> range_named(const std::string& text) {
  const auto dots = text.find("..");
  if (dots == std::string::npos || text.size() == 2) return {};
  Range range;
  const auto read = [](const std::string& word, double& into) {
    std::size_t end = 0;
    try {
      if (!word.empty()) into = std::stod(word, &end);
    } catch (const std::exception&) {
      return false;
    }
    return end == word.size() && !std::isnan(into);
  };
  if (!read(text.substr(0, dots), range.low) || !read(text.substr(dots + 2), range.high)) return {};
  if (range.low >= range.high) return {};
  return range;
}

std::vector<Sample> smoothed(std::span<const Sample> samples, std::size_t radius) {
  std::vector<Sample> smooth(samples.begin(), samples.end());
  for (std::size_t begin = 0; begin < smooth.size();) {
    std::size_t end = begin;
    while (end < smooth.size() && std::isfinite(smooth[end].y)) ++end;
    for (int pass = 0; pass < 3; ++pass) smooth_once(std::span(smooth).subspan(begin, end - begin), radius);
    begin = end + 1;
  }
  return smooth;
}

Axis Panel::x_axis(int ticks) const {
  Ends ends;
  for (const Line& line : lines)
    for (const Sample& sample : line.raw) ends.take(sample.x);
  if (ends.low > 0 && ends.low < ends.high / 10) ends.low = 0; // the first record is slightly after the start
  return Axis::linear(ends.low, ends.high, ticks);
}

Axis Panel::y_axis(int ticks) const {
  Ends ends;
  for (const Line& line : lines)
    for (const Sample& sample : line.main())
      if (std::isfinite(sample.y) && (!logarithmic || sample.y > 0)) ends.take(sample.y);
  if (logarithmic && ends.high > 0) {
    if (range.low > 0) ends.low = range.low;
    if (std::isfinite(range.high) && range.high > 0) ends.high = range.high;
    const double room = std::pow(ends.high / ends.low, 0.04);
    return Axis::logarithmic(ends.low / room, ends.high * room, ticks);
  }
  const bool from = std::isfinite(range.low), to = std::isfinite(range.high);
  if (from) ends.low = range.low;
  if (to) ends.high = range.high;
  if (from && to) return Axis::linear(ends.low, ends.high, ticks);
  const double room = (ends.high - ends.low) * 0.05;
  // No margin beyond 0 and 1 if the values lie within them, like an accuracy.
  const double low = ends.low >= 0 ? std::max(ends.low - room, 0.0) : ends.low - room;
  const double high = ends.high <= 1 && ends.low >= 0 ? std::min(ends.high + room, 1.0) : ends.high + room;
  return Axis::linear(from ? ends.low : low, to ? ends.high : high, ticks);
}

Result<std::vector<Panel>> panels_of(std::span<const record::Curves> runs, const PanelOptions& options) {
  const auto known = all_metrics(runs);
  auto wanted = options.metrics;
  if (wanted.empty())
    std::ranges::copy_if(known, std::back_inserter(wanted),
                         [](const auto& name) { return !record::is_vital_sign(name); });
  std::vector<Panel> panels;
  for (const std::string& metric : wanted) {
    if (std::ranges::find(known, metric) == known.end())
      return Status::not_found("there is no metric '", metric, "' in these runs: ", suggestion(metric, known));
    const bool loss = metric.find("loss") != std::string::npos;
    Panel& panel = panels.emplace_back(
        Panel{metric, {}, options.logarithmic && (loss || !options.metrics.empty()), options.y_range});
    for (std::size_t run = 0; run < runs.size(); ++run)
      for (const record::Curve& curve : runs[run].curves)
        if (curve.metric == metric && !curve.points.empty())
          panel.lines.push_back(cut(line_of(run, curve, options), options.x_range));
    std::erase_if(panel.lines, [](const Line& line) { return line.raw.empty(); });
  }
  const bool any = !panels.empty();
  std::erase_if(panels, [](const Panel& panel) { return panel.lines.empty(); });
  if (any && panels.empty()) return Status::not_found("there is nothing to draw between the ends of --x-range");
  if (panels.empty()) return Status::not_found("there is nothing to draw: these runs have no metrics yet");
  return panels;
}

} // namespace dlhost::tools
