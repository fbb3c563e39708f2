// A layer's declarations, found by setting it up for small inputs: the names of its outputs and params, and the default
// initialisers, for the author of a job.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plugin/load.h"

namespace dlhost::tools {

// {"with", "inputs": [SHAPE], "outputs": [{"name", "shape"}], "params": [{"name", "shape", "init"}], "metrics": [NAME]}
// for the first trial inputs that the layer accepts; null: it accepts none, reads files, or is no layer. Runs the
// plugin's code, which may crash: call it in a child.
nlohmann::json trial_setup(const plugin::Library&, const Factory&);

} // namespace dlhost::tools
