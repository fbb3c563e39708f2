// The host of real runs: this machine's clock, threads, files and terminal. Made once, by main, before any plugin is
// loaded, and destroyed after the last.
#pragma once

#include <functional>
#include <memory>

#include <dlhost/host.h>

#include "env/clock.h"
#include "env/disk.h"
#include "env/log.h"
#include "env/tasks.h"

namespace dlhost::env {

class RealHost : public Host {
 public:
  // Makes the product of a part: the plugin registry, which lies above env and is handed in once it is there.
  using Maker = std::function<Result<std::unique_ptr<Plugin>>(Kind, const Part&)>;

  explicit RealHost(LogLevel lowest = LogLevel::info) : log_(lowest) {}

  Clock& clock() override { return clock_; }
  Tasks& tasks() override { return tasks_; }
  Disk& disk() override { return disk_; }
  Log& log() override { return log_; }
  Result<std::unique_ptr<Plugin>> make(Kind, const Part&) override;

  // The same log, with what only the program itself asks of it: the file it is kept in, its lowest level.
  UserLog& user_log() { return log_; }
  // Before the first plugin is made, from one task.
  void set_maker(Maker maker) { maker_ = std::move(maker); }

 private:
  SteadyClock clock_;
  ThreadTasks tasks_;
  PosixDisk disk_;
  UserLog log_;
  Maker maker_;
};

// The processors that this process may use: affinity and cgroup limits respected.
int usable_processors();

} // namespace dlhost::env
