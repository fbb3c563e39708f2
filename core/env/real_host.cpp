#include "env/real_host.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sched.h>
#include <thread>

namespace dlhost::env {

namespace {

// cgroup v2 writes "QUOTA PERIOD" or "max PERIOD"; 0: no limit.
int cgroup_limit(Disk& disk) {
  // The file reports size 0, so this reads byte by byte.
  auto file = disk.open("/sys/fs/cgroup/cpu.max");
  if (!file.ok()) return 0;
  std::string text;
  for (std::byte letter; (*file)->read_at(text.size(), {&letter, 1}).ok() && text.size() < 64;)
    text += static_cast<char>(letter);
  const auto space = text.find(' ');
  if (space == std::string::npos || text.starts_with("max")) return 0;
  const double quota = std::atof(text.c_str()), period = std::atof(text.c_str() + space);
  return period > 0 ? static_cast<int>(std::ceil(quota / period)) : 0;
}

} // namespace

int usable_processors() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) count = CPU_COUNT(&allowed);
  PosixDisk disk;
  if (const int limit = cgroup_limit(disk); limit > 0) count = std::min(count, limit);
  return std::max(count, 1);
}

Result<std::unique_ptr<Plugin>> RealHost::make(Kind kind, const Part& part) {
  if (!maker_) return Status::internal("no plugins can be made yet: ", name_of(kind), " '", part.type, "'");
  return maker_(kind, part);
}

} // namespace dlhost::env
