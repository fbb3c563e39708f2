// Draws panels as one SVG picture: small multiples with a common legend. The colours suit colour-blind readers. If runs
// are compared, phases differ by their stroke.
#pragma once

#include <span>
#include <string>

#include "tools/chart/panels.h"

namespace dlhost::tools {

// `runs`: the names for the legend, indexed by Line::run.
std::string chart_svg(std::span<const Panel>, std::span<const std::string> runs, XAxis);

} // namespace dlhost::tools
