// The host of simulated processes: the world's clock, fibers as tasks, files in memory, log lines into the world's
// history. One host serves all processes of a world: a call acts for the process of the running task, so a plugin may
// keep the host from its init. Before and after a run it reads and writes the files of machine 0.
#pragma once

#include <functional>

#include <dlhost/host.h>

#include "env/simulated/disk.h"
#include "env/simulated/world.h"

namespace dlhost::env::simulated {

class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(World& world) : world_(world) {}
  Nanoseconds now() override { return world_.now(); }
  void sleep(Nanoseconds span) override { world_.sleep(span, "sleeps"); }
  double wall_seconds() override;

 private:
  World& world_;
};

class SimulatedTasks final : public Tasks {
 public:
  explicit SimulatedTasks(World& world) : world_(world) {}
  std::unique_ptr<Task> start(std::string name, std::function<void()> body) override;
  std::unique_ptr<Waiter> waiter() override;

 private:
  World& world_;
};

class SimulatedLog final : public Log {
 public:
  SimulatedLog(World& world, LogLevel lowest) : world_(world), lowest_(lowest) {}
  bool shows(LogLevel level) override { return level >= lowest_; }
  void write(LogLevel, std::string_view) override;

 private:
  World& world_;
  LogLevel lowest_;
};

class SimulatedHost final : public Host {
 public:
  using Maker = std::function<Result<std::unique_ptr<Plugin>>(Kind, const Part&)>;

  // `beneath`: a disk for reading files that this one lacks; null: none.
  explicit SimulatedHost(World& world, Disk* beneath = nullptr, LogLevel lowest = LogLevel::warning)
      : clock_(world), tasks_(world), disk_(world, beneath), log_(world, lowest) {}

  SimulatedClock& clock() override { return clock_; }
  SimulatedTasks& tasks() override { return tasks_; }
  SimulatedDisk& disk() override { return disk_; }
  SimulatedLog& log() override { return log_; }
  Result<std::unique_ptr<Plugin>> make(Kind, const Part&) override;
  // Requires: no plugin has been made yet.
  void set_maker(Maker maker) { maker_ = std::move(maker); }

 private:
  SimulatedClock clock_;
  SimulatedTasks tasks_;
  SimulatedDisk disk_;
  SimulatedLog log_;
  Maker maker_;
};

} // namespace dlhost::env::simulated
