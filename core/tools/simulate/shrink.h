// Makes a failing simulated run smaller while it fails alike: fewer faults, fewer steps, fewer workers. The result is
// short enough to read.
#pragma once

#include <functional>

#include "tools/simulate/simulation.h"

namespace dlhost::tools {

struct Failing {
  config::Job job;
  SimulationSpec spec;
};

// True if both runs fail with the same code, or with ledger faults of the same kind.
bool fail_alike(const Simulated&, const Simulated&);

// `fails`: true if a candidate fails like the first run.
Failing shrink(Failing, const std::function<bool(const Failing&)>& fails);

} // namespace dlhost::tools
