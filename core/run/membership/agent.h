// A member of a run that does not lead it: it starts the workers that are to be its own, attempt by attempt, and looks
// after them, until the leader says that the run is over. Should the leader be lost, it takes its place where it sees
// the run's folder, and is the first of those who do.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "plugin/registry.h"
#include "run/coordinator/worker_processes.h"
#include "run/membership/members.h"

namespace dlhost::run {

class Agent {
 public:
  // `interrupted`: it is to leave the run. `may_begin`: it knows the job, and begins it where nobody can go on with it.
  Agent(Host& host, plugin::Registry& registry, Members& members, const std::atomic<bool>& interrupted, bool may_begin)
      : host_(host), registry_(registry), members_(members), interrupted_(interrupted), may_begin_(may_begin) {}

  // Until the run is over for this one, or it leads: then it is to go on with what was left to it, or, where that names
  // no run, to begin.
  Result<std::optional<Takeover>> run();

 private:
  Result<std::optional<Takeover>> follow();
  bool is_to_leave();
  bool is_to_leave_at_once();
  // None: the run is over, this one is to leave, or it leads.
  Result<std::optional<AttemptPlan>> await_call();
  Status succeed(Nanoseconds waited);
  bool sees_the_run() const;
  Status attempt(const AttemptPlan&, std::uint32_t number);
  Status watch(WorkerProcesses&, std::uint32_t number, const Assignment&);
  bool hear_will(std::uint32_t number);
  void hear_and_tell(WorkerProcesses&, std::uint32_t number, const std::vector<std::uint32_t>& seats);

  Host& host_;
  plugin::Registry& registry_;
  Members& members_;
  const std::atomic<bool>& interrupted_;
  const bool may_begin_;
  Takeover takeover_;         // of the newest attempt that left one
  std::uint32_t settled_ = 0; // the epoch in which it is known that somebody leads
  Nanoseconds leave_at_ = 0;  // 0: not yet
};

} // namespace dlhost::run
