// The --phase option of commands that look at samples.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <dlhost/frame.h>
#include <dlhost/status.h>

#include "config/job.h"

namespace dlhost::cli {

inline void add_phase(CLI::App& command, std::string& phase) {
  command.add_option("--phase", phase, "whose samples: train, validation or test")
      ->check(CLI::IsMember({"train", "validation", "validate", "test"})) // "validate", as in jobs
      ->type_name("PHASE")
      ->capture_default_str();
}

inline Phase phase_named(const std::string& name) {
  return name == "train" ? Phase::train : name.starts_with("valid") ? Phase::validate : Phase::test;
}

inline Status no_samples(Phase phase) {
  const auto option = config::key_of(phase);
  return Status::invalid("the job has no ", phase == Phase::validate ? "validation" : option,
                         " samples: name some in its source (`", option, "`, docs/data.md), or with --set layer.NAME.",
                         option, "=...");
}

} // namespace dlhost::cli
