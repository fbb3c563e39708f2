// A member of a run that does not lead it: it starts the workers that are to be its own, attempt by attempt, and looks
// after them, until the leader says that the run is over.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "plugin/registry.h"
#include "run/members.h"
#include "run/worker_processes.h"

namespace dlhost::run {

class Agent {
 public:
  // `interrupted`: it is to leave the run.
  Agent(Host& host, plugin::Registry& registry, Members& members, const std::atomic<bool>& interrupted)
      : host_(host), registry_(registry), members_(members), interrupted_(interrupted) {}

  Status run();

 private:
  bool is_to_leave();
  // None: the run is over, or this one is to leave.
  Result<std::optional<Call>> await_call();
  Status attempt(const Call&, std::uint32_t number);
  Status watch(WorkerProcesses&, std::uint32_t number, const std::vector<std::uint32_t>& seats);
  void hear_and_tell(WorkerProcesses&, std::uint32_t number, const std::vector<std::uint32_t>& seats);

  Host& host_;
  plugin::Registry& registry_;
  Members& members_;
  const std::atomic<bool>& interrupted_;
  Nanoseconds leave_at_ = 0; // 0: not yet
};

} // namespace dlhost::run
