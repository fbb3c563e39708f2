#include "simulated.h"

#include <cstdio>

#include "env/simulated/host.h"

namespace dlhost::conform {

int in_a_world(std::uint64_t seed, const std::function<int(Host&, const SetMaker&)>& suites) {
  constexpr Nanoseconds a_day = Nanoseconds{24} * 3600 * 1'000'000'000;
  env::PosixDisk disk;
  env::simulated::World world(seed);
  env::simulated::SimulatedHost host(world, &disk);
  int code = 2;
  world.start("conform",
              [&] { code = suites(host, [&](env::RealHost::Maker maker) { host.set_maker(std::move(maker)); }); });
  const Status status = world.run(a_day);
  if (!status.ok()) std::fprintf(stderr, "dlhost-conform: %s\n", status.message().c_str());
  return status.ok() ? code : 2;
}

} // namespace dlhost::conform
