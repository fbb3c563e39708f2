// First values of params, by the initialisers that the job names.
#pragma once

#include "param/store/store.h"
#include "plugin/registry.h"

namespace dlhost::param {

// Each param draws from its own stream of the seed, keyed by its name, so that adding a layer changes no other's
// values.
Status initialize(Store&, plugin::Registry&, plugin::Activity&, std::uint64_t seed);

} // namespace dlhost::param
