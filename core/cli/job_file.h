// A job file, read and checked, for the commands that take one.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "config/job.h"

namespace dlhost::cli {

// `set` is what stood behind each --set. Of a name that no plugin has, or a broken one, the failure says why.
Result<config::Job> load_job(Context&, const std::string& path, const std::vector<std::string>& set);

} // namespace dlhost::cli
