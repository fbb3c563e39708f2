// The trials of a sweep, as they stand in its folder: `sweep.json` says what was asked and what each trial sets, and
// `trial-001` has the run of the first. What a trial came to is read from its run, so that a sweep that was killed goes
// on.
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
  std::vector<std::string> set;                 // in all trials
  std::vector<std::vector<std::string>> trials; // KEY=VALUE of each
  std::string metric;   // empty: the accuracy, else the loss, of the validation, else of the test
  bool highest = false; // of a metric that is named: more is better
  bool halving = true;
  std::uint32_t jobs = 1;
};

Status keep(Disk&, const std::string& folder, const SweepAsked&);
Result<SweepAsked> kept(Disk&, const std::string& folder);
std::string trial_folder(const std::string& folder, std::size_t trial);

// What a trial has come to.
struct Score {
  std::string metric, phase;
  bool highest = false;
  std::vector<record::CurvePoint> points; // each evaluation

  // The best of the first so many; none: there are fewer.
  std::optional<record::CurvePoint> best(std::size_t first) const;
  bool better(double one, double other) const { return highest ? one > other : one < other; }
};
// None: nothing was evaluated yet.
std::optional<Score> score_of(Disk&, const std::string& folder, std::size_t trial, const SweepAsked&);

// How the trial's run ended: "done", "interrupted", "diverged", "failed"; "running" as long as that is not told; empty
// where there is no run.
std::string status_of_trial(Disk&, const std::string& folder, std::size_t trial);
// The run's own folder; empty: there is none.
std::string run_of_trial(Disk&, const std::string& folder, std::size_t trial);

} // namespace dlhost::tools
