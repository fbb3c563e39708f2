// Leadership of a run: the leader is the process that holds a lock on the file `leader` in the run's folder.
// `leader.json` describes the leader, its workers and the run's recoveries. It is replaced as a whole, so a reader
// always gets the last complete text. Each leader draws a mark: a process on another machine that finds the same mark
// sees the same folder, not just one of the same name. The membership's name lets new members find the run after all
// old ones have gone (members.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "env/process/processes.h"
#include "run/recovery/recovery.h"
#include "run/recovery/run_process.h"

namespace dlhost::run {

// Server groups that go on if the first one is lost, with the leader (rejoining.h).
struct GoingOn {
  std::string meeting;              // the folder in which all workers meet; empty: all begin anew
  std::vector<std::uint32_t> homes; // the first worker of each server group
  std::vector<RunProcess> workers;  // from the second worker on
  // A group but the first has all its processes.
  bool any(env::Processes&) const;
};

struct Leader {
  std::string host = {}; // the run's name of its machine; empty: no leader
  int process = 0;
  std::vector<RunProcess> workers = {}; // from the second worker on
  Recovery::Past past;
  std::string mark = {};
  std::string membership = {}; // empty: no members of other processes
  GoingOn going_on = {};       // a leader without workers keeps those of the leader before it
};

class Leadership {
 public:
  // Takes the lead and writes leader.json, without workers. An empty `membership` keeps the last one. `before` is
  // called when the lock is held, before leader.json is written. Errors: Code::exists: another process leads; the
  // message names it.
  static Result<Leadership> take(Disk&, env::Processes&, const std::string& run, const std::string& host,
                                 const std::string& membership = {}, const std::function<Status()>& before = nullptr);
  // The same, but waits up to `limit` for the present leader to notice that it is out. Errors: Code::exists after that.
  static Result<Leadership> await(Host&, env::Processes&, const std::string& run, const std::string& machine,
                                  const std::string& membership, Nanoseconds limit);
  // Takes over the lock from hand_over(), in the next program that this process executes.
  static Result<Leadership> adopt(Disk&, env::Processes&, const std::string& run, int handed_over);
  Result<int> hand_over() { return lock_->hand_over(); }
  Status tell(const Leader&);
  // Reads leader.json; an empty Leader if there is none.
  static Result<Leader> told(Disk&, const std::string& run);
  // True if a process leads the run now.
  static Result<bool> led(const std::string& run);
  static constexpr const char* file_name = "leader"; // in the run's folder

 private:
  using Lock = std::unique_ptr<env::Processes::Lock>;
  Leadership(Disk& disk, const std::string& run, Lock lock, std::string mark, std::string membership)
      : disk_(&disk), run_(run), lock_(std::move(lock)), mark_(std::move(mark)), membership_(std::move(membership)) {}

  Disk* disk_;
  std::string run_;
  Lock lock_;
  std::string mark_, membership_;
};

} // namespace dlhost::run
