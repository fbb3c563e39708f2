// What each program of dlhost is: dlhost itself, and the tools that lie beside it (cli/tools.h). All read their command
// line in the same way, and offer completion and their part of the manual page.
#pragma once

#include "cli/command.h"

namespace dlhost::cli {

using AddCommands = void (*)(CLI::App&, Context&);
// What main returns.
int program_main(int argc, char** argv, AddCommands);

} // namespace dlhost::cli
