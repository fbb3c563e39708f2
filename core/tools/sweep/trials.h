// The trials of a sweep in its folder: `sweep.json` has the request and each trial's settings, `trial-001` the first
// trial's run. Results are read from the runs, so that a killed sweep can be resumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "record/curves.h"

namespace dlhost::tools {

struct SweepAsked {
  std::string job;                              // an absolute path
  std::vector<std::string> set;                 // for all trials
  std::vector<std::vector<std::string>> trials; // KEY=VALUE for each trial
  std::string metric;                           // empty: accuracy, else loss; of the validation, else the test
  bool highest = false;                         // for a named metric: higher is better
  bool halving = true;
  std::uint32_t jobs = 1;
};

Status keep(Disk&, const std::string& folder, const SweepAsked&);
Result<SweepAsked> kept(Disk&, const std::string& folder);
std::string trial_folder(const std::string& folder, std::size_t trial);

// The result of a trial so far.
struct Score {
  std::string metric, phase;
  bool highest = false;
  std::vector<record::CurvePoint> points; // one for each evaluation

  // The best of the first `first` points; none: there are fewer.
  std::optional<record::CurvePoint> best(std::size_t first) const;
  bool better(double one, double other) const { return highest ? one > other : one < other; }
};
// None: no evaluation yet.
std::optional<Score> score_of(Disk&, const std::string& folder, std::size_t trial, const SweepAsked&);

// The status of the trial's run: "done", "interrupted", "diverged", "failed"; "running" if it reported none; empty: no
// run.
std::string status_of_trial(Disk&, const std::string& folder, std::size_t trial);
// The folder of the trial's run; empty: none.
std::string run_of_trial(Disk&, const std::string& folder, std::size_t trial);

} // namespace dlhost::tools
