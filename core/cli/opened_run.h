// Opens a finished or interrupted run: its job and a checkpoint.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/job.h"
#include "run/session/checkpoints.h"
#include "run/session/session.h"

namespace dlhost::cli {

// The choice among a run's params.
struct ParamsChoice {
  bool last = false;     // of the newest checkpoint, even if a best one is kept
  bool averaged = false; // the averages of the updater (updater.average)
};

struct RunChoice {
  std::string run;              // a run's folder, or a checkpoint
  std::string job;              // the job file; empty: the one saved by the run
  std::vector<std::string> set; // overrides
  ParamsChoice params;
};
void add_run_choice(CLI::App& command, RunChoice&);
void add_params_choice(CLI::App& command, ParamsChoice&);
// For a run's folder: the best checkpoint if one is kept, else the newest. For a checkpoint: that one.
Result<param::CheckpointFiles> checkpoint_named(Host&, const std::string& run, const ParamsChoice&);

struct OpenedRun {
  config::Job job;
  param::CheckpointFiles checkpoint;
  std::unique_ptr<run::Session> session; // refers to job
};
// load_params reads the params later, after the programs that use them are built. `more`: further settings for the job.
using Overrides = std::function<Result<std::vector<std::string>>(const config::Job&)>;
Result<std::unique_ptr<OpenedRun>> open_run(Context&, const RunChoice&, const Overrides& more = {});

} // namespace dlhost::cli
