// The work of a worker that is a process of its own: `dlhost worker` (process_pool.h), or a simulated process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "run/membership/address_book.h"
#include "run/worker/follower.h"

namespace dlhost::run {

struct WorkerProcess {
  std::string folder; // in which the run's workers meet
  std::uint32_t seat = 0;
  Follower::Open open;
  // Errors: the leader is gone.
  std::function<Status()> leader_is_there;
  // Called if the leader is gone and the run may continue. `run`: the run's folder. The Follower: the worker in its
  // last state; null if that is destroyed already.
  std::function<Status(const std::string& run, Follower*)> outlives;
};

// Works until the run is over, or until another leader takes it up.
Status work(Host&, const WorkerProcess&, AddressBook&);

} // namespace dlhost::run
