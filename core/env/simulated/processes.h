// The processes of a simulated world, and their locks, as the running task sees them.
#pragma once

#include <string>
#include <vector>

#include "env/process/processes.h"
#include "env/simulated/world.h"

namespace dlhost::env::simulated {

class SimulatedProcesses final : public Processes {
 public:
  explicit SimulatedProcesses(World& world) : world_(world) {}

  int own() override { return world_.process(); }
  bool runs(int process) override { return process > 0 && world_.runs(process); }
  bool kill(int process) override;
  Result<std::unique_ptr<Lock>> lock(const std::string& path) override;
  Result<std::unique_ptr<Lock>> adopt(int handed_over, const std::string& path) override;
  // In a world, another program of a process is another process: from now on, it holds a lock that was handed over.
  void pass_on(int handed_over, int process) { held_[static_cast<std::size_t>(handed_over)].process = process; }

 private:
  class Held;
  struct Holder {
    std::string path;
    int process = 0; // 0: none. Its death frees the lock
  };
  std::unique_ptr<Lock> held(std::size_t number);

  World& world_;
  std::vector<Holder> held_; // of each path; a handed-over lock's number is its index
};

} // namespace dlhost::env::simulated
