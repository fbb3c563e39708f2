#include "tools/chart/palette.h"

#include <algorithm>
#include <iterator>

namespace dlhost::tools {

namespace {

constexpr std::string_view usual_phases[] = {"train", "validation", "test"};

}

Palette::Palette(std::span<const Panel> panels, std::size_t runs) : runs_(runs) {
  const auto drawn = [&](std::string_view phase) {
    return std::ranges::any_of(panels, [&](const Panel& panel) {
      return std::ranges::any_of(panel.lines, [&](const Line& line) { return line.phase == phase; });
    });
  };
  for (const std::string_view phase : usual_phases)
    if (drawn(phase)) phases_.emplace_back(phase);
  for (const Panel& panel : panels)
    for (const Line& line : panel.lines)
      if (std::ranges::find(phases_, line.phase) == phases_.end()) phases_.push_back(line.phase);
}

const Color& Palette::color(const Line& line) const {
  return colors[(by_run() ? line.run : rank(line)) % colors.size()];
}

std::size_t Palette::stroke(const Line& line) const { return by_run() ? std::min<std::size_t>(rank(line), 2) : 0; }

// A phase's rank does not depend on the other phases drawn, so that pictures can be compared.
std::size_t Palette::rank(const Line& line) const {
  const auto usual = std::ranges::find(usual_phases, line.phase);
  if (usual != std::end(usual_phases)) return static_cast<std::size_t>(usual - std::begin(usual_phases));
  const auto other = std::ranges::find(phases_, line.phase);
  return std::size(usual_phases) + static_cast<std::size_t>(other - phases_.begin());
}

} // namespace dlhost::tools
