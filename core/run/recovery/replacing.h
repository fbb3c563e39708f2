// The run's leader looks after server groups that are lost while the others go on (docs/decisions/losses.md): it ends
// what is left of such a group, starts its processes anew, and lets them in.
//
//   ending     some of the group's processes are gone, the others are ended
//   coming     new ones are started, and prepare
//   admitting  all others are told to reach them
//   joining    they take the values from the others
//
// A group whose new processes die goes back to `ending`. One group at a time is let in, and none while the others are
// held.
//
// Thread: the leader's. Owns nothing of what it is given.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/replacement.h"
#include "run/coordinator/worker_pool.h"
#include "run/worker/worker.h"

namespace dlhost::run {

class Replacing {
 public:
  // What a run says to it, and hears.
  struct Terms {
    std::function<bool(const Status& why)> may;           // go on without the dead, and replace them
    std::function<void(const record::Replacement&)> tell; // they are replaced
    std::function<std::uint64_t()> step;                  // of the leader
  };
  Replacing(Host& host, WorkerPool& pool, Worker& leader, Terms terms)
      : host_(host), pool_(pool), leader_(leader), terms_(std::move(terms)) {}

  // Called again and again. Not ok: the run does not go on like that.
  Status look();

 private:
  enum class Stage : std::uint8_t { ending, coming, admitting, joining };
  struct Lost {
    std::uint32_t group = 0; // of servers
    Stage stage = Stage::ending;
    std::uint32_t number = 0; // of its new processes (roster.h, Admissions)
    Nanoseconds since = 0, started = 0;
    std::vector<std::uint64_t> made; // by each worker, then
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
  std::uint32_t numbers_ = 0; // of groups that were started anew
};

} // namespace dlhost::run
