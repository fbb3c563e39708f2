// A job file, read and checked, for the commands that take one.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "config/job.h"
#include "run/session/session.h"

namespace dlhost::cli {

// `set` is what stood behind each --set. Of a name that no plugin has, or a broken one, the failure says why; and it
// says all else that is in the way of a session for that purpose.
Result<config::Job> load_job(Context&, const std::string& path, const std::vector<std::string>& set,
                             run::Purpose = run::Purpose::training);

} // namespace dlhost::cli
