#include "plots.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/chart/axis.h"
#include "tools/chart/palette.h"
#include "tools/chart/svg.h"

namespace dlhost::bench {

namespace {

constexpr double width = 420, height = 300, left = 64, above = 44, below = 46, between = 84, legend_row = 20;

constexpr std::string_view style =
    R"(text { font-family: "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; font-size: 12px; fill: #333 }
.paper { fill: #fff }
.title { font-size: 14px; font-weight: 600; fill: #111 }
.tick { font-size: 11px; fill: #666 }
.grid { stroke: #e6e6e6; stroke-width: 1 }
.base { stroke: #999; stroke-width: 1 }
.main { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round }
)";

std::string size_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:g} MiB", bytes / (1 << 20));
  return bytes >= 1024 ? fmt::format("{:g} KiB", bytes / 1024) : fmt::format("{:g}", bytes);
}

tools::Axis axis_of(const Plot& plot, double (*value)(const std::pair<std::size_t, double>&)) {
  double low = 0, high = 0;
  for (const auto& line : plot.lines)
    for (const auto& one : line.values) {
      low = low > 0 ? std::min(low, value(one)) : value(one);
      high = std::max(high, value(one));
    }
  return tools::Axis::logarithmic(low, high, 6);
}

std::string_view color_of(std::size_t line) { return tools::colors[line % tools::colors.size()].hex; }

void draw(tools::Svg& svg, tools::Place corner, const Plot& plot) {
  const tools::Axis x = axis_of(plot, [](const auto& one) { return static_cast<double>(one.first); });
  const tools::Axis y = axis_of(plot, [](const auto& one) { return one.second; });
  const auto at = [&](const std::pair<std::size_t, double>& one) {
    return tools::Place{corner.x + x.place(static_cast<double>(one.first)) * width,
                        corner.y + (1 - y.place(one.second)) * height};
  };
  svg.text({corner.x, corner.y - 13}, plot.title, "class=\"title\"");
  for (const auto& tick : y.ticks()) {
    const double line = corner.y + (1 - y.place(tick.value)) * height;
    svg.line({corner.x, line}, {corner.x + width, line}, "class=\"grid\"");
    svg.text({corner.x - 8, line + 4}, tick.label, "class=\"tick\" text-anchor=\"end\"");
  }
  // Labels the measured sizes, which are powers of two; every second one if there are more than six.
  const auto& sizes = plot.lines.front().values;
  const std::size_t step = sizes.size() > 6 ? 2 : 1;
  for (std::size_t i = 0; i < sizes.size(); i += step)
    svg.text({at(sizes[i]).x, corner.y + height + 17}, size_text(static_cast<double>(sizes[i].first)),
             "class=\"tick\" text-anchor=\"middle\"");
  svg.line({corner.x, corner.y + height}, {corner.x + width, corner.y + height}, "class=\"base\"");
  for (std::size_t line = 0; line < plot.lines.size(); ++line) {
    std::vector<tools::Place> places;
    for (const auto& one : plot.lines[line].values) places.push_back(at(one));
    svg.curve(places, fmt::format("class=\"main\" stroke=\"{}\"", color_of(line)), plot.lines[line].name);
    for (const auto& place : places) svg.dot(place, 2.6, fmt::format("fill=\"{}\"", color_of(line)));
  }
}

} // namespace

std::string draw(const std::string& description, const std::vector<Plot>& plots) {
  const auto count = static_cast<double>(std::max<std::size_t>(plots.size(), 1));
  const std::size_t lines = plots.empty() ? 0 : plots.front().lines.size();
  tools::Svg svg(left + count * width + (count - 1) * between + 24,
                 above + height + below + legend_row * (1 + static_cast<double>((lines + 3) / 4)), description, style);
  svg.rectangle({0, 0}, left + count * width + (count - 1) * between + 24, above + height + below + 3 * legend_row,
                "class=\"paper\"");
  for (std::size_t plot = 0; plot < plots.size(); ++plot)
    if (!plots[plot].lines.empty())
      draw(svg, {left + static_cast<double>(plot) * (width + between), above}, plots[plot]);
  for (std::size_t line = 0; line < lines; ++line) {
    const tools::Place key{left + static_cast<double>(line % 4) * 230,
                           above + height + below + static_cast<double>(line / 4) * legend_row};
    svg.line({key.x, key.y - 4}, {key.x + 22, key.y - 4}, fmt::format("class=\"main\" stroke=\"{}\"", color_of(line)));
    svg.text({key.x + 30, key.y}, plots.front().lines[line].name, "class=\"key\"");
  }
  return svg.finish();
}

} // namespace dlhost::bench
