// The process that stands by for the leader of a run whose workers are processes: it waits for the leader's end, and
// takes its place should it be killed (cli/run/succession.h). Workers can do so as well, but not while the leader has
// ended them and not yet started others; so that the leader has a standby for as long as it leads, and starts another
// one when it is gone.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "env/process/lifeline.h"

namespace dlhost::run {

// While this file is in the run's folder, others may go on with a run whose leader is gone. What ends the run by the
// leader's own doing takes it away: its end, a second Ctrl-C, a crash of its code.
std::string may_be_taken_over(const std::string& run);

class Standby {
 public:
  // Starts one, and waits until it watches. `plugins`: the arguments by which it finds them.
  static Result<env::Lifeline> start(const std::vector<std::string>& plugins, const std::string& run);

  // Keeps one up from here on.
  // Thread: made and destroyed by the leader's; works on a task of its own.
  Standby(Host&, std::vector<std::string> plugins, std::string run, env::Lifeline);
  // The leader ends in order.
  ~Standby();

 private:
  void keep_up();

  Host& host_;
  const std::vector<std::string> plugins_;
  const std::string run_;
  env::Lifeline line_;
  std::atomic<bool> over_{false};
  std::unique_ptr<Waiter> woken_;
  std::unique_ptr<Task> task_;
};

} // namespace dlhost::run
