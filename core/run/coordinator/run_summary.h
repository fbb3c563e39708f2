// The part of a run's summary that describes its training: "running" at the start, the outcome at the end.
#pragma once

#include "record/summary.h"
#include "run/coordinator/training.h"

namespace dlhost::run {

// The summary of a starting run: it remains if the process is killed.
record::Summary summary_of_start(Session&, const record::RunFolder&);
void add_outcome(record::Summary&, const Outcome&);

} // namespace dlhost::run
