#include "run/coordinator/worker_pool.h"

#include "run/coordinator/process_pool.h"
#include "run/coordinator/task_pool.h"

namespace dlhost::run {

Result<std::unique_ptr<WorkerPool>> WorkerPool::make(Session& leader) {
  if (leader.job().topology.run_as == config::RunAs::threads)
    return std::unique_ptr<WorkerPool>(std::make_unique<TaskPool>(leader));
  return ProcessPool::make(leader);
}

} // namespace dlhost::run
