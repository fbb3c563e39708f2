// The newest run of a job, where it has not come to its end: what `dlhost run --continue` goes on with.
#pragma once

#include <string>

#include "cli/command.h"
#include "config/job.h"

namespace dlhost::cli {

// Its folder; empty: there is none, it is done, or it left nothing to go on from.
Result<std::string> unfinished_run(Context&, const config::Job&);

} // namespace dlhost::cli
