// Workers of one machine that are processes: `dlhost worker FOLDER SEAT LEADER`, started by this one, which looks after
// them. Used by several tasks.
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
  // They meet in that folder, and find plugins where this process does.
  WorkerProcesses(Host& host, plugin::Registry& registry, std::string folder)
      : host_(host), registry_(registry), folder_(std::move(folder)) {}

  Status start(std::uint32_t seat);
  // One that has ended, anew, in the group of that number (roster.h, Admissions).
  Status restart(std::uint32_t seat, std::uint32_t number);
  bool has_ended(std::uint32_t seat);
  // Ends one at once, if it is one of these.
  void kill(std::uint32_t seat);
  // Not ok: one of them has ended.
  Status look();
  // How one ended, and its last words; empty: it is none of these.
  std::string fate(std::uint32_t seat);
  std::vector<int> numbers() const;
  // Those that have ended, each told once.
  std::vector<std::uint32_t> newly_ended();
  bool all_ended();
  // Until all have ended by themselves, for ten seconds; who has not by then is ended. What they said goes to the log.
  // Not ok: a plugin's fault ended one of them.
  Status end();

 private:
  struct Worker {
    std::uint32_t seat = 0;
    std::unique_ptr<env::Process> process;
    bool told = false;
  };
  std::string words_of(std::uint32_t seat) const { return concat(folder_, "/worker-", seat, ".log"); }
  Worker* find(std::uint32_t seat);
  Result<std::unique_ptr<env::Process>> run(std::uint32_t seat, std::uint32_t number);
  std::string fate_of(const Worker&);
  void log_words(std::uint32_t seat);

  Host& host_;
  plugin::Registry& registry_;
  const std::string folder_;
  mutable std::mutex guard_; // a process is looked after by several tasks
  std::vector<Worker> workers_;
};

} // namespace dlhost::run
