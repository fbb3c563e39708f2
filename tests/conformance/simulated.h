// Suites on a simulated host: all of them as one process of a world, in virtual time, one task at a time.
#pragma once

#include <cstdint>
#include <functional>

#include <dlhost/host.h>

#include "env/real_host.h"

namespace dlhost::conform {

using SetMaker = std::function<void(env::RealHost::Maker)>;
// What `suites` returns; 2, and a message, where that cannot be or does not end.
int in_a_world(std::uint64_t seed, const std::function<int(Host&, const SetMaker&)>& suites);

} // namespace dlhost::conform
