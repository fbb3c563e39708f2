// How a process of a run whose leader was killed takes the leader's place: a worker, or the leader's standby.
//
// Whoever holds the lock of the run's folder leads. The others wait until the new leader has workers again, for it may
// be killed as well. Before anybody can know the new leader, it has a standby of its own: so a run is lost only when
// all of its processes are gone.
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

// The arguments by which other processes find the plugins that this one finds.
std::vector<std::string> plugin_arguments(const Context&);
// None: another process leads the run, or it is over. `dead`: the number of the leader that was killed.
Result<std::optional<Succession>> succeed(Context&, const std::string& run, int dead);
// This process becomes the leader; returns only where that cannot be.
Status lead_instead(Context&, const std::string& run, Succession);

} // namespace dlhost::cli
