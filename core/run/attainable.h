// Whether a job can come to its end: samples for its steps, and evaluations for what looks at them.
#pragma once

#include "run/session.h"

namespace dlhost::run {

// All that is in the way at once, each with its place in the job. Asked before anything is made.
Status check_attainable(Session&);

} // namespace dlhost::run
