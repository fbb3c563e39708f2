#include "run/coordinator/crew.h"

#include "run/coordinator/process_crew.h"
#include "run/coordinator/task_crew.h"

namespace dlhost::run {

Result<std::unique_ptr<Crew>> Crew::make(Session& leader) {
  if (leader.job().topology.run_as == config::RunAs::threads)
    return std::unique_ptr<Crew>(std::make_unique<TaskCrew>(leader));
  return ProcessCrew::make(leader);
}

} // namespace dlhost::run
