// Two plots side by side, both axes logarithmic.
#include <algorithm>

#include <fmt/format.h>

#include "record/axis.h"
#include "record/palette.h"
#include "record/svg.h"
#include "report.h"

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

using Value = double (*)(const Row&);

std::string size_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:g} MiB", bytes / (1 << 20));
  return bytes >= 1024 ? fmt::format("{:g} KiB", bytes / 1024) : fmt::format("{:g}", bytes);
}

record::Axis axis_of(const std::vector<Measured>& all, Value value) {
  double low = 0, high = 0;
  for (const auto& one : all)
    for (const Row& row : one.rows) {
      low = low > 0 ? std::min(low, value(row)) : value(row);
      high = std::max(high, value(row));
    }
  return record::Axis::logarithmic(low, high, 6);
}

std::string_view color_of(std::size_t line) { return record::colors[line % record::colors.size()].hex; }

void draw(record::Svg& svg, record::Place corner, std::string_view title, const std::vector<Measured>& all,
          Value value) {
  const record::Axis x = axis_of(all, [](const Row& row) { return static_cast<double>(row.bytes); });
  const record::Axis y = axis_of(all, value);
  const auto at = [&](const Row& row) {
    return record::Place{corner.x + x.place(static_cast<double>(row.bytes)) * width,
                         corner.y + (1 - y.place(value(row))) * height};
  };
  svg.text({corner.x, corner.y - 13}, title, "class=\"title\"");
  for (const auto& tick : y.ticks()) {
    const double line = corner.y + (1 - y.place(tick.value)) * height;
    svg.line({corner.x, line}, {corner.x + width, line}, "class=\"grid\"");
    svg.text({corner.x - 8, line + 4}, tick.label, "class=\"tick\" text-anchor=\"end\"");
  }
  // Sizes are powers of two: those that were measured, as many as have room.
  const auto& sizes = all.front().rows;
  for (std::size_t i = 0; i<sizes.size(); i += sizes.size()> 6 ? 2 : 1)
    svg.text({at(sizes[i]).x, corner.y + height + 17}, size_text(static_cast<double>(sizes[i].bytes)),
             "class=\"tick\" text-anchor=\"middle\"");
  svg.line({corner.x, corner.y + height}, {corner.x + width, corner.y + height}, "class=\"base\"");
  for (std::size_t line = 0; line < all.size(); ++line) {
    std::vector<record::Place> places;
    for (const Row& row : all[line].rows) places.push_back(at(row));
    svg.curve(places, fmt::format("class=\"main\" stroke=\"{}\"", color_of(line)), all[line].kind.name);
    for (const auto& place : places) svg.dot(place, 2.6, fmt::format("fill=\"{}\"", color_of(line)));
  }
}

} // namespace

std::string as_picture(const std::vector<Measured>& all) {
  const double total = left + width + between + width + 24;
  record::Svg svg(total, above + height + below + legend_row * (1 + static_cast<double>((all.size() + 3) / 4)),
                  "Latency and bandwidth of transports by the size of messages", style);
  svg.rectangle({0, 0}, total, above + height + below + 3 * legend_row, "class=\"paper\"");
  if (!all.empty()) {
    draw(svg, {left, above}, "one way, microseconds", all, [](const Row& row) { return row.latency * 1e6; });
    draw(svg, {left + width + between, above}, "GB/s", all, [](const Row& row) { return row.bytes_per_second * 1e-9; });
  }
  for (std::size_t line = 0; line < all.size(); ++line) {
    const record::Place key{left + static_cast<double>(line % 4) * 230,
                            above + height + below + static_cast<double>(line / 4) * legend_row};
    svg.line({key.x, key.y - 4}, {key.x + 22, key.y - 4}, fmt::format("class=\"main\" stroke=\"{}\"", color_of(line)));
    svg.text({key.x + 30, key.y}, all[line].kind.name, "class=\"key\"");
  }
  return svg.finish();
}

} // namespace dlhost::bench
