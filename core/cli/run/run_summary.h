// What summary.json and the closing table say of a run: at its start, that it is running; at its end, how it ended.
#pragma once

#include "cli/command.h"
#include "record/summary.h"
#include "run/coordinator/training.h"

namespace dlhost::cli {

// A process that is killed, or that a plugin crashes, leaves this behind.
record::Summary summary_of_start(run::Session&, const record::RunFolder&);
// Fills in the end, and what can be done next.
void add_end(record::Summary&, const Context&, run::Session&, const run::Outcome&);

} // namespace dlhost::cli
