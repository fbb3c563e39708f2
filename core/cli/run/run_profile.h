// Writes where the time of a step went: to the terminal, to profile.json and as a trace into the run's folder.
#pragma once

#include "cli/command.h"
#include "record/run_folder.h"
#include "run/coordinator/training.h"
#include "run/session/session.h"

namespace dlhost::cli {

// `steps`: the number of measured steps.
Status write_profile(Context&, run::Session&, const run::Training&, const record::RunFolder&, const run::Outcome&,
                     std::uint64_t steps);

} // namespace dlhost::cli
