// The program of a new leader: the process that takes a killed leader's place (run/recovery/succession.h) becomes
// `dlhost run`, with the run's lock and a standby of its own.
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
