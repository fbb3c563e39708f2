// Whether a job's checkpoints fit on the disk: looked at before the first step, since a disk that is full at the last
// one costs waiting, or the training.
#pragma once

#include "run/session/session.h"

namespace dlhost::cli {

// Checkpoints will lie in `folder`. Not ok: not one of them fits. Where one fits, and not all that are kept, a warning.
Status check_disk_room(run::Session&, const std::string& folder);

} // namespace dlhost::cli
