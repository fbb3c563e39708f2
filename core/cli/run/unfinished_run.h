// Finds the newest unfinished run of a job.
#pragma once

#include <string>

#include "cli/command.h"
#include "config/job.h"

namespace dlhost::cli {

// The run to continue for `dlhost run --continue`: its folder; empty: there is none, it is done, or it left nothing to
// continue from.
Result<std::string> unfinished_run(Context&, const config::Job&);

// The run of a membership (run::Members::name) whose earlier members are all gone: new members continue it. Its folder;
// empty: none that started with this job, or none visible here.
Result<std::string> unfinished_run_of(Context&, const config::Job&, const std::string& membership);

} // namespace dlhost::cli
