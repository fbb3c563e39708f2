// The leader of a running run, for commands that steer it.
#pragma once

#include <string>

#include "cli/command.h"
#include "run/recovery/leadership.h"

namespace dlhost::cli {

struct Led {
  run::Leader by;
  // Whether a process of this machine leads and may be signalled. Requires that it has the run's lock file open,
  // because process numbers are reused.
  bool here = false;
};
Result<Led> leader_of(Context&, const std::string& run);

} // namespace dlhost::cli
