// How a process takes the place of a killed leader: a worker, or the leader's standby.
//
// The process that holds the lock of the run's folder leads. The others wait until the new leader has workers, because
// it may be killed as well. The new leader starts its own standby before it is announced. So a run is lost only when
// all its processes are gone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "env/process/lifeline.h"
#include "run/recovery/leadership.h"

namespace dlhost::cli {

struct Succession {
  run::Leadership leadership;
  env::Lifeline standby;
};

// The arguments by which other processes find this process' plugins.
std::vector<std::string> plugin_arguments(const Context&);
// None: another process leads the run, or it is over. `dead`: the killed leader's process number.
Result<std::optional<Succession>> succeed(Context&, const std::string& run, int dead);
// Makes this process the leader; returns only on failure.
Status lead_instead(Context&, const std::string& run, Succession);

} // namespace dlhost::cli
