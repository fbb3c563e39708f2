// What a layer declares, found by setting it up for small inputs: the names of its outputs and params, and the default
// initialisers, for the author of a job.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plugin/load.h"

namespace dlhost::tools {

// {"with", "inputs": [SHAPE], "outputs": [{"name", "shape"}], "params": [{"name", "shape", "init"}], "metrics":
// [NAME]}, of the first few inputs that it takes; null: it takes none of them, reads files, or is no layer. Runs its
// code: for a process that may crash.
nlohmann::json trial_setup(const plugin::Library&, const Factory&);

} // namespace dlhost::tools
