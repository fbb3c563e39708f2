// Checks before the first step whether a job's checkpoints fit on the disk: a full disk at the last step costs waiting,
// or the training.
#pragma once

#include "run/session/session.h"

namespace dlhost::cli {

// Errors: no checkpoint fits in `folder`. Warns if one fits but not all that are kept.
Status check_disk_room(run::Session&, const std::string& folder);

} // namespace dlhost::cli
