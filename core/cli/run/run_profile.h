// Where the time of a step went: on the terminal, as profile.json and as a trace in the run's folder.
#pragma once

#include "cli/command.h"
#include "record/run_folder.h"
#include "run/coordinator/training.h"
#include "run/session/session.h"

namespace dlhost::cli {

// `steps`: that were made since it is measured.
Status write_profile(Context&, run::Session&, const run::Training&, const record::RunFolder&, const run::Outcome&,
                     std::uint64_t steps);

} // namespace dlhost::cli
