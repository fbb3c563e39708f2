// Draws panels as text for a terminal: braille dots with Unicode, else ASCII letters.
#pragma once

#include <span>
#include <string>

#include "env/terminal.h"
#include "tools/chart/panels.h"

namespace dlhost::tools {

std::string chart_text(std::span<const Panel>, std::span<const std::string> runs, XAxis, env::Terminal&);

} // namespace dlhost::tools
