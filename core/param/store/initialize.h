// First values of params, by the initialisers that the job names.
#pragma once

#include "param/store/store.h"
#include "plugin/registry.h"

namespace dlhost::param {

// Each param draws from its own stream of the seed, keyed by its name. So an added layer does not change the values of
// other params.
Status initialize(Store&, plugin::Registry&, plugin::Activity&, std::uint64_t seed);

} // namespace dlhost::param
