// Workers that are tasks of this process. They read from the leader's sources.
#pragma once

#include <vector>

#include "run/coordinator/worker_pool.h"
#include "run/membership/task_address_book.h"

namespace dlhost::run {

class TaskPool final : public WorkerPool {
 public:
  explicit TaskPool(Session& leader);
  ~TaskPool() override;

  AddressBook& address_book() override { return address_book_; }
  Status start() override;
  Status bequeath(const std::string&) override { return {}; } // none survives
  std::string fate(std::uint32_t) override { return {}; }

 private:
  Session& leader_;
  TaskAddressBook address_book_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

} // namespace dlhost::run
