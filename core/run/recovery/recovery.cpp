#include "run/recovery/recovery.h"

#include <algorithm>

#include "plan/place.h"

namespace dlhost::run {

// Threads die with their process. Recovery needs workers that are processes.
Recovery::Recovery(const config::Job& job, const Past& past) : past_(past) {
  if (plan::Place::seats(job.topology) > 1 && job.topology.run_as == config::RunAs::processes)
    restarts_ = job.recovery.restarts;
}

bool Recovery::goes_on(const Status& status, std::uint64_t steps) {
  if (status.code() != Code::gone) return false;
  if (steps > past_.furthest) past_.tries = 0;
  past_.furthest = std::max(past_.furthest, steps);
  if (past_.tries >= restarts_) return false;
  ++past_.tries;
  ++past_.times;
  return true;
}

} // namespace dlhost::run
