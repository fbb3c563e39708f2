// The environment of a run's coordinator: the process of `dlhost run` (cli/run/job_run), or a process of a simulated
// world (tools/simulate/simulated_run). All that differs between the two stands here.
//
// Thread: the coordinator's, except host() and interrupt().
#pragma once

#include <atomic>
#include <string>

#include <dlhost/host.h>

#include "config/job.h"
#include "env/process/processes.h"
#include "env/terminal.h"
#include "plugin/registry.h"
#include "record/run_folder.h"
#include "record/summary.h"
#include "run/coordinator/training.h"
#include "run/coordinator/worker_pool.h"
#include "run/membership/members.h"
#include "run/recovery/leadership.h"

namespace dlhost::run {

class RunEnvironment {
 public:
  virtual ~RunEnvironment() = default;

  virtual Host& host() = 0;
  virtual plugin::Registry& registry() = 0;
  virtual env::Processes& processes() = 0;
  virtual env::Terminal& terminal() = 0;
  // The name of this machine.
  virtual std::string machine() = 0;
  // The processes that divide the workers among themselves. Null: this process starts all workers.
  virtual Members* members() { return nullptr; }

  // The job of the leader's own worker, and the other workers of an attempt with that job.
  virtual config::Job of_leader(config::Job job) { return job; }
  virtual WorkerPool::Maker pool(const config::Job&) = 0;
  // The same, if other server groups go on without the first one. Requires: members() is null.
  virtual WorkerPool::Maker pool_among(const config::Job&, const GoingOn&) = 0;

  // True: people ask the run to save and end. interrupt() asks so itself.
  virtual const std::atomic<bool>& interrupted() = 0;
  virtual void interrupt() = 0;
  // The time between two looks for a job that people want the run to have. load() reads it.
  virtual Nanoseconds request_interval() { return 100'000'000; }
  virtual Result<config::Job> load(const std::string& job_file) = 0;

  // The leadership that a lost leader left to this process.
  virtual Result<Leadership> inherit(const std::string& run) = 0;
  // From now on another process takes this one's place if it dies. Has no effect if one does already. Requires: the
  // run's folder permits it (succession.h).
  virtual Status begin_succession(const std::string& run) = 0;
  // The run ends here: no other process takes it up.
  virtual void end_succession() = 0;

  // The log's lines go to this file too.
  virtual Status keep_log(const std::string& file) = 0;
  // Errors: the disk has no room for a checkpoint in that folder.
  virtual Status check_room(Session&, const std::string& folder) = 0;
  // The disk is full at the last save.
  virtual Status await_room(const std::string& run, double seconds, const LastSave&) = 0;
  virtual Status write(const record::RunFolder&, const record::Summary&) = 0;
  // Adds what only this process knows: versions at the start; memory and the next commands at the end.
  virtual void add_start(record::Summary&, Session&) = 0;
  virtual void add_end(record::Summary&, Session&, const Outcome&) = 0;
  // An observer of each step and evaluation, beside the records. Null: there is none.
  virtual Observer* observer() { return nullptr; }
  // The run is over and all is written. `steps`: the number of steps of the last attempt.
  virtual Status end(Session&, Training&, const record::RunFolder&, const Outcome&, std::uint64_t steps) = 0;
};

} // namespace dlhost::run
