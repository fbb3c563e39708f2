// What each tool brings: its command.
#pragma once

#include "cli/command.h"

namespace dlhost::tools {

void add_command(CLI::App&, cli::Context&);

} // namespace dlhost::tools
