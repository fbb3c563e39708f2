// The --phase option of commands that look at samples.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <dlhost/frame.h>

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

} // namespace dlhost::cli
