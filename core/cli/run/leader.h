// Who leads a run that goes on, for the commands that steer it from elsewhere.
#pragma once

#include <string>

#include "cli/command.h"
#include "run/recovery/leadership.h"

namespace dlhost::cli {

struct Led {
  run::Leader by;
  // By a process of this machine that may be signalled. Only one that has the run's file open is believed to lead it:
  // numbers are given again.
  bool here = false;
};
Result<Led> leader_of(Context&, const std::string& run);

} // namespace dlhost::cli
