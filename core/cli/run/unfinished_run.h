// The newest run of a job, where it has not come to its end.
#pragma once

#include <string>

#include "cli/command.h"
#include "config/job.h"

namespace dlhost::cli {

// What `dlhost run --continue` goes on with. Its folder; empty: there is none, it is done, or it left nothing to go on
// from.
Result<std::string> unfinished_run(Context&, const config::Job&);

// That of a membership (run::Members::name) in which nobody is left who knew of it: what those go on with who come. Its
// folder; empty: it had none that began with this job, or none that is to be seen here.
Result<std::string> unfinished_run_of(Context&, const config::Job&, const std::string& membership);

} // namespace dlhost::cli
