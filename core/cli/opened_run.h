// A finished or interrupted run, opened again: its job and the checkpoint to look at.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/job.h"
#include "run/session/checkpoints.h"
#include "run/session/session.h"

namespace dlhost::cli {

// Which of the params that a run has.
struct ParamsChoice {
  bool last = false;     // those of the newest checkpoint, also where a best one is kept
  bool averaged = false; // the averages that the updater kept (updater.average)
};

struct RunChoice {
  std::string run;              // a run's folder, or a checkpoint
  std::string job;              // the job file; empty: the one that the run kept
  std::vector<std::string> set; // overrides
  ParamsChoice params;
};
void add_run_choice(CLI::App& command, RunChoice&);
void add_params_choice(CLI::App& command, ParamsChoice&);
// Of a run's folder the best checkpoint, where one is kept, else the newest; or the one that is named.
Result<param::CheckpointFiles> checkpoint_named(Host&, const std::string& run, const ParamsChoice&);

struct OpenedRun {
  config::Job job;
  param::CheckpointFiles checkpoint;
  std::unique_ptr<run::Session> session; // refers to job
};
// The params are read by load_params, after the programs that are to use them have been built. `more` says what else of
// the job is to be set.
using Overrides = std::function<Result<std::vector<std::string>>(const config::Job&)>;
Result<std::unique_ptr<OpenedRun>> open_run(Context&, const RunChoice&, const Overrides& more = {});

} // namespace dlhost::cli
