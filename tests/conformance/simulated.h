// Suites on a simulated host: all in one process of a world, in virtual time, one task at a time.
#pragma once

#include <cstdint>
#include <functional>

#include <dlhost/host.h>

#include "env/real_host.h"

namespace dlhost::conform {

using SetMaker = std::function<void(env::RealHost::Maker)>;
// Returns the result of `suites`; 2, with a message, if there is no simulation or it does not end.
int in_a_world(std::uint64_t seed, const std::function<int(Host&, const SetMaker&)>& suites);

} // namespace dlhost::conform
