// Whether a job can come to its end: samples for its steps, and evaluations for what looks at them.
#pragma once

#include "run/session/session.h"

namespace dlhost::run {

// `validation`: the net that evaluates validation samples; null: not known, or there is none.
void check_attainable(const Session&, const net::Graph* validation, config::Problems&);

} // namespace dlhost::run
