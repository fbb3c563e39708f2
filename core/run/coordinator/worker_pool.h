// The workers of a run except the leader: tasks of this process or processes of this machine, as the job asks for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "run/membership/address_book.h"
#include "run/recovery/run_process.h"
#include "run/session/session.h"

namespace dlhost::run {

// Workers whose processes can be replaced while the run continues (replacing.h).
class Replaceable {
 public:
  virtual ~Replaceable() = default;
  virtual bool has_ended(std::uint32_t seat) = 0;
  // Starts a new process for a seat. `number`: of its new group (Admissions). Requires: has_ended(seat).
  virtual Status restart(std::uint32_t seat, std::uint32_t number) = 0;
};

class WorkerPool {
 public:
  using Maker = std::function<Result<std::unique_ptr<WorkerPool>>(Session& leader)>;
  // Makes the pool that the job's run_as asks for.
  static Result<std::unique_ptr<WorkerPool>> make(Session& leader);
  // Waits until all workers have ended. Requires: they were told to end.
  virtual ~WorkerPool() = default;

  virtual AddressBook& address_book() = 0;
  // Starts the workers. Requires: the leader's contact is in the address book.
  virtual Status start() = 0;
  // If the leader dies, a surviving worker may continue the run in that folder.
  virtual Status bequeath(const std::string& run) = 0;
  // Null: workers cannot be replaced.
  virtual Replaceable* replaceable() { return nullptr; }
  // The processes of workers from the second on. Empty: they are tasks.
  virtual std::vector<RunProcess> processes() { return {}; }
  // True: other server groups go on, and the first one begins anew among them (run/recovery/rejoining.h).
  virtual bool others_go_on() const { return false; }
  // The folder in which the workers meet. Empty: none can go on without this leader.
  virtual std::string meeting() const { return {}; }
  // Leaves the workers to another pool. Nothing else is called after that.
  virtual void let_go() {}
  // Errors: gone if a worker has ended before the run's end.
  virtual Status look() { return {}; }
  // Waits until all workers have ended. Requires: they were told to end. Errors: a plugin's fault ended one of them.
  virtual Status part() { return {}; }
  // How a worker that is gone ended, with the last lines that it printed.
  virtual std::string fate(std::uint32_t seat) = 0;
};

} // namespace dlhost::run
