// How people name a run: by its folder, by the beginning of its name under runs/, by a folder of runs for the newest in
// it, or not at all for the newest under runs/.
#pragma once

#include <string>

#include "cli/command.h"

namespace dlhost::cli {

// The argument RUN.
CLI::Option* add_run_named(CLI::App& command, std::string& run, const std::string& also = {});

// The run's folder; or the words as they are, where they name a checkpoint, a file, or nothing that exists: the command
// that reads it tells what is missing there.
Result<std::string> run_named(Disk&, const std::string& words);

} // namespace dlhost::cli
