#include <cstdio>

#include "simulated.h"

namespace dlhost::conform {

int in_a_world(std::uint64_t, const std::function<int(Host&, const SetMaker&)>&) {
  std::fputs("dlhost-conform: --simulated: this build has no simulation; it needs Boost.Context\n", stderr);
  return 2;
}

} // namespace dlhost::conform
