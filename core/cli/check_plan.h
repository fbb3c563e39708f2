// The plan that `dlhost check --plan` prints: the part of each layer that each worker of a group computes, and what
// goes between them.
#pragma once

#include <dlhost/status.h>

#include "run/session/session.h"

namespace dlhost::cli {

// Errors: the job's partition does not fit its net.
Status print_plan(run::Session&, bool json);

} // namespace dlhost::cli
