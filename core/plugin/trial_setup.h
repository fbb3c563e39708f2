// What a layer declares, seen by setting it up for small inputs: so that somebody who writes a job knows what its
// outputs and params are called, and what their first values are.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plugin/load.h"

namespace dlhost::plugin {

// {"with", "inputs": [SHAPE], "outputs": [{"name", "shape"}], "params": [{"name", "shape", "init"}], "metrics":
// [NAME]}, of the first few inputs that it takes; null: it takes none of them, reads files, or is no layer. Runs its
// code: for a process that may crash.
nlohmann::json trial_setup(const Library&, const Factory&);

} // namespace dlhost::plugin
