// Reads and checks a job file for a command.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "config/job.h"
#include "run/session/session.h"

namespace dlhost::cli {

// `set`: the texts after each --set. Errors: all obstacles to a session for this purpose, such as unknown or broken
// plugins.
Result<config::Job> load_job(Context&, const std::string& path, const std::vector<std::string>& set,
                             run::Purpose = run::Purpose::training);

} // namespace dlhost::cli
