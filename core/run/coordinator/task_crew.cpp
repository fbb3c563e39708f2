#include "run/coordinator/task_crew.h"

#include "run/worker/follower.h"

namespace dlhost::run {

TaskCrew::TaskCrew(Session& leader)
    : leader_(leader), roster_(leader.host().tasks(), Place::machines(leader.job().topology)) {}

TaskCrew::~TaskCrew() {
  roster_.fail(Status::cancelled("it is over"));
  tasks_.clear();
}

Status TaskCrew::start() {
  for (std::uint32_t number = 1; number < roster_.seats(); ++number)
    tasks_.push_back(leader_.host().tasks().start(concat("worker ", number), [this, number] {
      Follower follower([this](std::uint32_t turn) { return Session::open_beside(leader_, turn); }, roster_, number);
      if (Status status = follower.run(); !status.ok()) roster_.fail(std::move(status).at("worker ", number));
    }));
  return {};
}

} // namespace dlhost::run
