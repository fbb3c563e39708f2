// Worker processes of this machine, `dlhost worker FOLDER SEAT LEADER`, which this process starts or adopts, and
// watches.
// Thread: any; calls are guarded by a lock.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "env/process/process.h"
#include "plugin/registry.h"

namespace dlhost::run {

class WorkerProcesses {
 public:
  // The workers meet in that folder, and search plugins where this process does.
  WorkerProcesses(Host& host, plugin::Registry& registry, std::string folder)
      : host_(host), registry_(registry), folder_(std::move(folder)) {}

  Status start(std::uint32_t seat);
  // Takes over the process of a seat from a leader that is gone.
  void adopt(std::uint32_t seat, int process);
  // Leaves the processes to another leader, or to another attempt of this one.
  void let_go();
  // Starts a new process for a seat. `number`: of its new group (Admissions). Requires: its process has ended.
  Status restart(std::uint32_t seat, std::uint32_t number);
  bool has_ended(std::uint32_t seat);
  // Kills the process of a seat at once, if it is one of these.
  void kill(std::uint32_t seat);
  // Errors: gone if a process of these seats has ended.
  Status look(std::uint32_t first_seat = 0, std::uint32_t after_last = ~std::uint32_t{0});
  // How the process of a seat that others lost ended, with the last lines that it printed. Waits up to five seconds
  // for its end. Empty: it is none of these.
  std::string fate(std::uint32_t seat);
  std::vector<int> numbers() const; // process ids
  // The seats whose processes have ended since the last call.
  std::vector<std::uint32_t> newly_ended();
  bool all_ended();
  // Waits up to ten seconds until all processes have ended, then kills the rest. Writes their output to the log.
  // Errors: internal if a plugin's fault ended one of them.
  Status end();

 private:
  struct Worker {
    std::uint32_t seat = 0;
    std::unique_ptr<env::Process> process;
    bool told = false; // newly_ended() has returned it
  };
  std::string words_of(std::uint32_t seat) const { return concat(folder_, "/worker-", seat, ".log"); }
  Worker* find(std::uint32_t seat);
  Result<std::unique_ptr<env::Process>> run(std::uint32_t seat, std::uint32_t number);
  std::string fate_of(const Worker&);
  void log_words(std::uint32_t seat);

  Host& host_;
  plugin::Registry& registry_;
  const std::string folder_;
  mutable std::mutex guard_; // for all below
  std::vector<Worker> workers_;
};

} // namespace dlhost::run
