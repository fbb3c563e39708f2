// The workers beside the leader, as what a job wants them: tasks of this process, or processes of this machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "run/membership/address_book.h"
#include "run/recovery/run_process.h"
#include "run/session/session.h"

namespace dlhost::run {

// Workers whose processes can be replaced while the others go on (replacing.h).
class Replaceable {
 public:
  virtual ~Replaceable() = default;
  virtual bool has_ended(std::uint32_t seat) = 0;
  // One that has, in the group of that number (roster.h, Admissions).
  virtual Status restart(std::uint32_t seat, std::uint32_t number) = 0;
};

class WorkerPool {
 public:
  using Maker = std::function<Result<std::unique_ptr<WorkerPool>>(Session& leader)>;
  // run_as says which.
  static Result<std::unique_ptr<WorkerPool>> make(Session& leader);
  // Until all have ended; they were told to.
  virtual ~WorkerPool() = default;

  virtual AddressBook& address_book() = 0;
  // The leader's card is on the roster.
  virtual Status start() = 0;
  // Who survives the leader may go on with the run in that folder.
  virtual Status bequeath(const std::string& run) = 0;
  // Null: none can be replaced.
  virtual Replaceable* replaceable() { return nullptr; }
  // From the second on, where they are processes.
  virtual std::vector<RunProcess> processes() { return {}; }
  // Not ok: one of them has ended, though nobody said that it is over.
  virtual Status look() { return {}; }
  // They were told that it is over: until all have ended. Not ok: a plugin's fault ended one of them.
  virtual Status part() { return {}; }
  // What is known of a worker that is gone: how it ended, and its last words.
  virtual std::string fate(std::uint32_t seat) = 0;
};

} // namespace dlhost::run
