// Names of runs on the command line: a run's folder; the beginning of a name under runs/; a folder of runs for the
// newest in it; nothing for the newest under runs/.
#pragma once

#include <string>

#include "cli/command.h"

namespace dlhost::cli {

// Adds the argument RUN.
CLI::Option* add_run_named(CLI::App& command, std::string& run, const std::string& also = {});

// The run's folder. Text that names a checkpoint, a file or nothing is returned unchanged: the command that reads it
// reports the error.
Result<std::string> run_named(Disk&, const std::string& words);

} // namespace dlhost::cli
