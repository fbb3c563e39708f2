// The last pass over the steps: when updates are made. On an asynchronous device small params are updated together, by
// one op. If gradients are summed among devices, updates wait for their sums. Both extend the lives of gradients.
#pragma once

#include <vector>

#include "program/build/expansion.h"
#include "program/exchange_builder.h"

namespace dlhost::program {

// On a synchronous device there are no groups: each update runs alone, while its gradient is in the cache.
std::vector<UpdateGroup> group_updates(const ExpandedSteps&, const std::vector<Unit>&, const Updater::Rule&, Slots&);

// If gradients are summed among devices beside the computing, updates and their gradients wait for the end of the step.
// A step that reads an updated param settles the updates first: an algorithm may visit a layer again.
void mark_settling(ExpandedSteps&, const std::vector<Unit>&, Slots&);

} // namespace dlhost::program
