// Panels as text, for a terminal: dots of braille where it knows Unicode, plain letters elsewhere.
#pragma once

#include <span>
#include <string>

#include "env/terminal.h"
#include "record/panels.h"

namespace dlhost::record {

std::string chart_text(std::span<const Panel>, std::span<const std::string> runs, XAxis, env::Terminal&);

} // namespace dlhost::record
