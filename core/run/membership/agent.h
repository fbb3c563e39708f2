// A member that does not lead the run. It starts its workers, attempt by attempt, and watches them until the leader
// says that the run is over. If the leader is lost, the first member that sees the run's folder takes its place.
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
  // `interrupted`: the member is to leave the run. `may_begin`: it has the job, and begins anew if no member can resume
  // the run.
  Agent(Host& host, plugin::Registry& registry, Members& members, const std::atomic<bool>& interrupted, bool may_begin)
      : host_(host), registry_(registry), members_(members), interrupted_(interrupted), may_begin_(may_begin) {}

  // Returns when the run is over for this member, or when it leads. A leader resumes the run of the Will, or begins
  // anew if the Will names no run. Empty: the run is over.
  Result<std::optional<Takeover>> run();

 private:
  Result<std::optional<Takeover>> follow();
  bool is_to_leave();
  bool is_to_leave_at_once();
  // Empty: the run is over, this member is to leave, or it leads.
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
  std::uint32_t settled_ = 0; // the epoch for which a leader is known to exist
  Nanoseconds leave_at_ = 0;  // 0: not interrupted
};

} // namespace dlhost::run
