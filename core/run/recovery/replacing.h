// Replaces server groups that are lost while the run continues (docs/decisions/losses.md), for the run's leader. It
// ends the processes that are left of such a group, starts new ones, and admits them to the run. The stages of a group:
//
//   ending     some of its processes are gone; the leader ends the others
//   coming     its new processes have started, and prepare
//   admitting  all other processes connect to them
//   joining    they take the values from the others
//
// A group whose new processes die goes back to `ending`. Only one group at a time is admitted, and none while the other
// workers are held.
//
// Thread: the leader's. Owns: none of the constructor's arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/replacement.h"
#include "run/coordinator/worker_pool.h"
#include "run/worker/worker.h"

namespace dlhost::run {

// Tells people of it. `step`: the leader's present step.
void tell_replaced(Host&, const record::Replacement&, std::uint64_t step);

class Replacing {
 public:
  struct Terms {
    std::function<bool(const Status& why)> may;           // true: continue without the lost group, and replace it
    std::function<void(const record::Replacement&)> tell; // called when a group is replaced
    std::function<std::uint64_t()> step;                  // the leader's present step
    std::function<void()> restarted = nullptr;            // called when a group has other processes
  };
  Replacing(Host& host, WorkerPool& pool, Worker& leader, Terms terms)
      : host_(host), pool_(pool), leader_(leader), terms_(std::move(terms)) {}

  // Advances the replacement of each lost group. Call it often. Errors: `may` refuses, or a group cannot be restarted.
  Status look();

 private:
  enum class Stage : std::uint8_t { ending, coming, admitting, joining };
  struct Lost {
    std::uint32_t group = 0; // the server group
    Stage stage = Stage::ending;
    std::uint32_t number = 0;           // of its new processes (Admissions)
    Nanoseconds since = 0, started = 0; // times of the loss and of the new processes' start
    std::vector<std::uint64_t> made;    // per worker: the steps that it had made at the loss
    record::Replacement told;
  };
  void find_lost();
  void begin_anew(Lost&);
  Status move(Lost&);
  Status restart(Lost&);
  Status release(Lost&);

  Host& host_;
  WorkerPool& pool_;
  Worker& leader_;
  const Terms terms_;
  std::vector<Lost> lost_;
};

} // namespace dlhost::run
