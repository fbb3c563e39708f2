// Checks that a job can finish: it has samples for its steps, and evaluations for the options that need them.
#pragma once

#include "run/session/session.h"

namespace dlhost::run {

// `validation`: the net that evaluates validation samples; null: unknown or none.
void check_attainable(const Session&, const net::Graph* validation, config::Problems&);

} // namespace dlhost::run
