#include "run/recovery.h"

#include "run/place.h"

namespace dlhost::run {

// Only what is a process of its own can die by itself.
Recovery::Recovery(const config::Job& job) {
  if (Place::seats(job.topology) > 1 && job.topology.run_as == config::RunAs::processes)
    restarts_ = job.recovery.restarts;
}

bool Recovery::goes_on(const Status& status, std::uint64_t steps) {
  if (status.code() != Code::gone) return false;
  if (steps > furthest_) tries_ = 0;
  furthest_ = std::max(furthest_, steps);
  if (tries_ >= restarts_) return false;
  ++tries_;
  ++times_;
  return true;
}

} // namespace dlhost::run
