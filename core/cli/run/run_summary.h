// The contents of summary.json and the closing table: "running" at the start, the outcome at the end.
#pragma once

#include "cli/command.h"
#include "record/summary.h"
#include "run/coordinator/training.h"

namespace dlhost::cli {

// The summary of a starting run: it remains if the process is killed.
record::Summary summary_of_start(run::Session&, const record::RunFolder&);
// Fills in the outcome and the next commands.
void add_end(record::Summary&, const Context&, run::Session&, const run::Outcome&);

} // namespace dlhost::cli
