// The entry point of each tool: it adds the tool's command.
#pragma once

#include "cli/command.h"

namespace dlhost::tools {

void add_command(CLI::App&, cli::Context&);

} // namespace dlhost::tools
