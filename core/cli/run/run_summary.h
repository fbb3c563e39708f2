// What only the process of a run knows for its summary: versions, memory, and the next commands.
#pragma once

#include "cli/command.h"
#include "record/summary.h"
#include "run/coordinator/training.h"

namespace dlhost::cli {

void add_versions(record::Summary&, run::Session&);
// Requires: the summary has the outcome.
void add_end(record::Summary&, const Context&, run::Session&, const run::Outcome&);

} // namespace dlhost::cli
