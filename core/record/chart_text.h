// Draws panels as text for a terminal: braille dots with Unicode, else ASCII letters.
#pragma once

#include <span>
#include <string>

#include "env/terminal.h"
#include "record/panels.h"

namespace dlhost::record {

std::string chart_text(std::span<const Panel>, std::span<const std::string> runs, XAxis, env::Terminal&);

} // namespace dlhost::record
