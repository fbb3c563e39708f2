// How people name a run: by its folder, by the beginning of its name under runs/, by a folder of runs for the newest in
// it, or not at all for the newest under runs/.
#pragma once

#include <string>

#include "cli/command.h"

namespace dlhost::cli {

// The argument RUN.
CLI::Option* add_run_named(CLI::App& command, std::string& run, const std::string& also = {});

// The folder that is meant, or the checkpoint or file in one. What nobody can have meant is left as it was written, for
// whoever looks for what he needs in it.
Result<std::string> run_named(Disk&, const std::string& words);

} // namespace dlhost::cli
