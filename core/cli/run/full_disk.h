// A disk that is full when a run ends: its params wait in memory, for room or for another folder. Where they wait,
// `dlhost save` finds a folder of that process in memory, which the disk's state does not concern: `to` is what is
// wished there, and `answer` what became of it.
#pragma once

#include <string>

#include <dlhost/host.h>

#include "run/coordinator/training.h"

namespace dlhost::cli {

// Says what is the matter and what helps, and waits so many seconds; done as soon as the params are saved anywhere.
Status wait_for_room(Host&, const std::string& run, double seconds, const run::LastSave&);

// Has that process save into `folder`, an absolute path; the answer names what was written. Code::not_found: it waits
// for nothing.
Result<std::string> save_elsewhere(Host&, int process, const std::string& folder);

} // namespace dlhost::cli
