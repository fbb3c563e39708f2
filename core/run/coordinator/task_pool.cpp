#include "run/coordinator/task_pool.h"

#include "run/worker/follower.h"

namespace dlhost::run {

TaskPool::TaskPool(Session& leader)
    : leader_(leader), address_book_(leader.host().tasks(), plan::Place::machines(leader.job().topology)) {}

TaskPool::~TaskPool() {
  address_book_.fail(Status::cancelled("it is over"));
  tasks_.clear();
}

Status TaskPool::start() {
  for (std::uint32_t number = 1; number < address_book_.workers(); ++number)
    tasks_.push_back(leader_.host().tasks().start(concat("worker ", number), [this, number] {
      Follower follower([this](std::uint32_t turn) { return Session::open_beside(leader_, turn); }, address_book_,
                        number);
      if (Status status = follower.run(); !status.ok()) address_book_.fail(std::move(status).at("worker ", number));
    }));
  return {};
}

} // namespace dlhost::run
