// A simulated run that fails, made smaller for as long as it fails alike: fewer faults, fewer steps, fewer workers.
// What is left is short enough to be read.
#pragma once

#include <functional>

#include "run/simulation.h"

namespace dlhost::run {

struct Failing {
  config::Job job;
  SimulationSpec spec;
};

// With the same code, or with faults of the same kind in their ledgers.
bool fail_alike(const Simulated&, const Simulated&);

// `fails`: whether it still does, and alike.
Failing shrink(Failing, const std::function<bool(const Failing&)>& fails);

} // namespace dlhost::run
