// Panels as one SVG picture: small multiples with a common legend, readable by itself. Colours can be told apart by
// people who see fewer of them; where runs are compared, phases differ by their stroke.
#pragma once

#include <span>
#include <string>

#include "tools/chart/panels.h"

namespace dlhost::tools {

// `runs` are the names for the legend, by Line::run.
std::string chart_svg(std::span<const Panel>, std::span<const std::string> runs, XAxis);

} // namespace dlhost::tools
