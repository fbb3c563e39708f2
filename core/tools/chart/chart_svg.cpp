#include "tools/chart/chart_svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "record/quantity.h"
#include "tools/chart/palette.h"
#include "tools/chart/svg.h"

namespace dlhost::tools {

namespace {

constexpr double margin = 22, left = 58, right = 62, above = 34, below = 46; // around the picture, around a plot
constexpr double legend_row = 22, letter = 6.7;                              // the mean width of a letter at 12 pixels
constexpr std::string_view strokes[] = {"", "7 4", "2 3.5"};

constexpr std::string_view style =
    R"(text { font-family: "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; font-size: 12px; fill: #333 }
.paper { fill: #fff }
.title { font-size: 14px; font-weight: 600; fill: #111 }
.tick, .axis { font-size: 11px; fill: #666 }
.grid { stroke: #e6e6e6; stroke-width: 1 }
.fine { stroke: #f2f2f2; stroke-width: 1 }
.base { stroke: #999; stroke-width: 1 }
.raw { fill: none; stroke-width: 1; stroke-opacity: .28; stroke-linejoin: round }
.main { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round }
.end { font-size: 11px; font-weight: 600; paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-linejoin: round }
.dot { stroke: #fff; stroke-width: 1 }
)";

struct Key {
  std::string text;
  std::string_view color;
  std::size_t stroke = 0;
};

// Maps values to pixels inside a panel's axes.
struct Plot {
  Place corner;
  double width, height;
  Axis x, y;
  Place at(const Sample& sample) const {
    return {corner.x + x.place(sample.x) * width, corner.y + (1 - y.place(sample.y)) * height};
  }
};

// Keeps the first, lowest, highest and last sample of each half-pixel column: the curve looks the same.
std::vector<Place> thinned(std::span<const Place> places) {
  std::vector<Place> kept;
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin, low = begin, high = begin;
    const double column = std::floor(places[begin].x * 2);
    for (; end < places.size() && std::floor(places[end].x * 2) == column; ++end) {
      if (places[end].y < places[low].y) low = end;
      if (places[end].y > places[high].y) high = end;
    }
    std::size_t last = begin;
    kept.push_back(places[begin]);
    for (const std::size_t index : {std::min(low, high), std::max(low, high), end - 1})
      if (index > last) kept.push_back(places[last = index]);
    begin = end;
  }
  return kept;
}

// Draws a curve, with gaps at values that are not finite or not above 0 on a logarithmic axis.
void draw_samples(Svg& svg, const Plot& plot, std::span<const Sample> samples, std::string_view attributes,
                  std::string_view title) {
  std::vector<Place> places;
  for (std::size_t i = 0; i <= samples.size(); ++i) {
    if (i < samples.size() && plot.y.shows(samples[i].y)) {
      places.push_back(plot.at(samples[i]));
      continue;
    }
    if (places.size() > 1) svg.curve(thinned(places), attributes, title);
    places.clear();
  }
}

void draw_axes(Svg& svg, const Plot& plot, const Panel& panel, XAxis x) {
  const Place corner = plot.corner;
  const double bottom = corner.y + plot.height, end = corner.x + plot.width;
  svg.text({corner.x, corner.y - 13}, panel.metric, "class=\"title\"");
  if (panel.logarithmic) svg.text({end, corner.y - 13}, "logarithmic", "class=\"axis\" text-anchor=\"end\"");
  for (const Tick& tick : plot.y.ticks()) {
    const double y = plot.at({plot.x.low(), tick.value}).y;
    svg.line({corner.x, y}, {end, y}, tick.label.empty() ? "class=\"fine\"" : "class=\"grid\"");
    svg.text({corner.x - 8, y + 4}, tick.label, "class=\"tick\" text-anchor=\"end\"");
  }
  for (const Tick& tick : plot.x.ticks()) {
    const double at = corner.x + plot.x.place(tick.value) * plot.width;
    svg.line({at, bottom}, {at, bottom + 4}, "class=\"base\"");
    svg.text({at, bottom + 17}, tick.label, "class=\"tick\" text-anchor=\"middle\"");
  }
  svg.line({corner.x, bottom}, {end, bottom}, "class=\"base\"");
  svg.text({corner.x + plot.width / 2, bottom + 34}, name_of(x), "class=\"axis\" text-anchor=\"middle\"");
}

void draw_dots(Svg& svg, const Plot& plot, const Line& line, const Color& color) {
  constexpr std::size_t most = 40;
  if (line.main().size() > most) return;
  for (const Sample& sample : line.main())
    if (plot.y.shows(sample.y))
      svg.dot(plot.at(sample), line.main().size() == 1 ? 4 : 2.6, fmt::format("class=\"dot\" fill=\"{}\"", color.hex));
}

// Whether the line's last value is written: with many lines only for the phase that runs are judged by.
bool tells_its_end(const Line& line, const Panel& panel) {
  constexpr std::size_t few = 6;
  if (panel.lines.size() <= few) return true;
  const auto has = [&](std::string_view phase) {
    return std::ranges::any_of(panel.lines, [&](const Line& other) { return other.phase == phase; });
  };
  return line.phase == (has("validation") ? "validation" : has("test") ? "test" : "train");
}

// Writes each line's last value at its end; overlapping texts are pushed apart.
void draw_ends(Svg& svg, const Plot& plot, const Panel& panel, const Palette& palette) {
  constexpr std::size_t most = 12;
  constexpr double apart = 13;
  struct End {
    Place place;
    std::string text;
    std::string_view color;
  };
  std::vector<End> ends;
  for (const Line& line : panel.lines) {
    const auto& samples = line.main();
    const auto last =
        std::find_if(samples.rbegin(), samples.rend(), [&](const Sample& sample) { return plot.y.shows(sample.y); });
    if (last == samples.rend() || !tells_its_end(line, panel)) continue;
    ends.push_back({plot.at(*last), record::short_number(last->y), palette.color(line).hex});
  }
  if (ends.size() > most) return;
  std::ranges::sort(ends, {}, [](const End& end) { return end.place.y; });
  for (std::size_t i = 1; i < ends.size(); ++i)
    ends[i].place.y = std::max(ends[i].place.y, ends[i - 1].place.y + apart);
  double floor = plot.corner.y + plot.height;
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    end->place.y = std::min(end->place.y, floor);
    floor = end->place.y - apart;
    svg.text({plot.corner.x + plot.width + 7, end->place.y + 4}, end->text,
             fmt::format("class=\"end\" style=\"fill:{}\"", end->color));
  }
}

// The stroke width for lines that coincide: each is wider than the lines drawn over it.
double breadth_of(const Panel& panel, std::size_t which) {
  const auto& mine = panel.lines[which].main();
  const auto above = std::count_if(
      panel.lines.begin() + static_cast<std::ptrdiff_t>(which) + 1, panel.lines.end(), [&](const Line& line) {
        return std::ranges::equal(line.main(), mine,
                                  [](const Sample& a, const Sample& b) { return a.x == b.x && a.y == b.y; });
      });
  constexpr double thin = 1.8, rim = 2.6;
  return thin + rim * static_cast<double>(above);
}

void draw_panel(Svg& svg, const Panel& panel, std::span<const std::string> runs, const Palette& palette, XAxis x,
                Plot plot) {
  draw_axes(svg, plot, panel, x);
  svg.begin_clip({plot.corner.x, plot.corner.y - 3}, plot.width + 5, plot.height + 6);
  for (const Line& line : panel.lines)
    if (!line.smooth.empty())
      draw_samples(svg, plot, line.raw, fmt::format("class=\"raw\" stroke=\"{}\"", palette.color(line).hex), {});
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const Line& line = panel.lines[i];
    const Color& color = palette.color(line);
    const std::string_view dashes = strokes[palette.stroke(line)];
    const std::string dashed = dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes);
    draw_samples(svg, plot, line.main(),
                 fmt::format("class=\"main\" stroke=\"{}\" style=\"stroke-width:{}\"{}", color.hex,
                             breadth_of(panel, i), dashed),
                 concat(runs[line.run], " ", line.phase));
    draw_dots(svg, plot, line, color);
  }
  svg.end_group();
  draw_ends(svg, plot, panel, palette);
}

std::vector<Key> keys_of(const Palette& palette, std::span<const std::string> runs) {
  std::vector<Key> keys;
  if (palette.by_run())
    for (std::size_t run = 0; run < runs.size(); ++run)
      keys.push_back({runs[run], palette.color({run, "", {}, {}}).hex});
  if (palette.by_run() && palette.phases().size() < 2) return keys;
  for (const std::string& phase : palette.phases()) {
    const Line line{0, phase, {}, {}};
    keys.push_back({phase, palette.by_run() ? "#777" : palette.color(line).hex, palette.stroke(line)});
  }
  return keys;
}

// Returns the start of each key; rows are filled from the left.
std::vector<Place> places_of(std::span<const Key> keys, Place at, double width) {
  constexpr double sample = 30, gap = 22;
  std::vector<Place> places;
  const double begin = at.x;
  for (const Key& key : keys) {
    const double size = sample + letter * static_cast<double>(record::width_of(key.text));
    if (at.x > begin && at.x + size > begin + width) at = {begin, at.y + legend_row};
    places.push_back(at);
    at.x += size + gap;
  }
  return places;
}

void draw_legend(Svg& svg, std::span<const Key> keys, std::span<const Place> places) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [x, y] = places[i];
    const std::string_view dashes = strokes[keys[i].stroke];
    svg.line({x, y - 4}, {x + 22, y - 4},
             fmt::format("class=\"main\" style=\"stroke-width:2.4\" stroke=\"{}\" stroke-dasharray=\"{}\"",
                         keys[i].color, dashes.empty() ? "none" : dashes));
    svg.text({x + 30, y}, keys[i].text, "");
  }
}

} // namespace

std::string chart_svg(std::span<const Panel> panels, std::span<const std::string> runs, XAxis x) {
  const std::size_t columns = panels.size() == 1 ? 1 : panels.size() > 4 ? 3 : 2;
  const std::size_t rows = (panels.size() + columns - 1) / columns;
  const double plot_width = columns == 1 ? 640 : columns == 2 ? 400 : 300;
  const double plot_height = columns == 1 ? 340 : columns == 2 ? 240 : 190;
  const double cell_width = left + plot_width + right, cell_height = above + plot_height + below;
  const double width = static_cast<double>(columns) * cell_width + 2 * margin;

  const Palette palette(panels, runs.size());
  const auto keys = keys_of(palette, runs);
  const std::string title = runs.size() == 1 ? runs.front() : concat(runs.size(), " runs");
  const double legend_top = margin + 10 + (palette.by_run() ? 0 : legend_row);
  const auto places = places_of(keys, {margin, legend_top}, width - 2 * margin);
  const double top = places.back().y + 16;
  const double height = top + static_cast<double>(rows) * cell_height + margin / 2;

  Svg svg(width, height, concat("Training curves of ", title), style);
  svg.rectangle({0, 0}, width, height, "class=\"paper\"");
  if (!palette.by_run()) svg.text({margin, margin + 8}, title, "class=\"title\"");
  draw_legend(svg, keys, places);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const Place cell{margin + static_cast<double>(i % columns) * cell_width,
                     top + static_cast<double>(i / columns) * cell_height};
    draw_panel(svg, panels[i], runs, palette, x,
               {{cell.x + left - margin / 2, cell.y + above},
                plot_width,
                plot_height,
                panels[i].x_axis(columns == 1 ? 8 : 5),
                panels[i].y_axis(5)});
  }
  return svg.finish();
}

} // namespace dlhost::tools
