// The host of real runs: this machine's clock, threads, files and terminal. Main makes it before any plugin is loaded
// and destroys it after the last.
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
  // Makes a part's plugin: the plugin registry, which lies above env and sets this hook later.
  using Maker = std::function<Result<std::unique_ptr<Plugin>>(Kind, const Part&)>;

  explicit RealHost(LogLevel lowest = LogLevel::info) : log_(lowest) {}

  Clock& clock() override { return clock_; }
  Tasks& tasks() override { return tasks_; }
  Disk& disk() override { return disk_; }
  Log& log() override { return log_; }
  Result<std::unique_ptr<Plugin>> make(Kind, const Part&) override;

  // The same log, with the settings that only the program may change: its file and its lowest level.
  UserLog& user_log() { return log_; }
  // Requires: no plugin has been made yet, one task.
  void set_maker(Maker maker) { maker_ = std::move(maker); }

 private:
  SteadyClock clock_;
  ThreadTasks tasks_;
  PosixDisk disk_;
  UserLog log_;
  Maker maker_;
};

// The number of processors for this process, within its affinity and cgroup limits.
int usable_processors();

} // namespace dlhost::env
