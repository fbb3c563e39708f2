// Panels as text, for a terminal: dots of braille where it knows Unicode, plain letters elsewhere.
#pragma once

#include <span>
#include <string>

#include "env/terminal.h"
#include "tools/chart/panels.h"

namespace dlhost::tools {

std::string chart_text(std::span<const Panel>, std::span<const std::string> runs, XAxis, env::Terminal&);

} // namespace dlhost::tools
