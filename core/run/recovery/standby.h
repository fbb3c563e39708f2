// The standby process of a leader whose workers are processes: it waits for the leader's end and takes its place if it
// was killed (succession.h). Workers can also take over, but not between two attempts, when the leader has
// ended them and not yet started others. So the leader keeps a standby for as long as it leads, and replaces a lost
// one.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "env/process/lifeline.h"

namespace dlhost::run {

class Standby {
 public:
  // Starts a standby process and waits until it watches. `plugins`: the arguments for finding plugins.
  static Result<env::Lifeline> start(const std::vector<std::string>& plugins, const std::string& run);

  // Keeps a standby running from here on.
  // Thread: made and destroyed by the leader's; works on a task of its own.
  Standby(Host&, std::vector<std::string> plugins, std::string run, env::Lifeline);
  // The leader ends normally, so the standby is dismissed.
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
