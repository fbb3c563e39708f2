// Workers as tasks of this process. They read from the leader's sources.
#pragma once

#include <vector>

#include "run/coordinator/crew.h"
#include "run/membership/task_roster.h"

namespace dlhost::run {

class TaskCrew final : public Crew {
 public:
  explicit TaskCrew(Session& leader);
  ~TaskCrew() override;

  Roster& roster() override { return roster_; }
  Status start() override;
  Status bequeath(const std::string&) override { return {}; } // no worker survives this process
  std::string fate(std::uint32_t) override { return {}; }

 private:
  Session& leader_;
  TaskRoster roster_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

} // namespace dlhost::run
