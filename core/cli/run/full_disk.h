// A run that ends on a full disk: its params wait in memory for room or for another folder. Requests of `dlhost save`
// go through a folder in shared memory, which does not need the disk: the file `to` names the target, `answer` the
// result.
#pragma once

#include <string>

#include <dlhost/host.h>

#include "run/coordinator/training.h"

namespace dlhost::cli {

// Reports the full disk and the remedy, and waits so many seconds. Returns as soon as the params are saved anywhere.
Status wait_for_room(Host&, const std::string& run, double seconds, const run::LastSave&);

// Asks that process to save into `folder`, an absolute path. Returns its answer. Errors: Code::not_found if it does not
// wait for room.
Result<std::string> save_elsewhere(Host&, int process, const std::string& folder);

} // namespace dlhost::cli
