// The options of a run that several commands share.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace dlhost::cli {

struct RunRequest {
  std::string job, resume; // at least one of the two is given
  std::vector<std::string> set;
  bool profile = false;
  bool accepts_data = false;  // other data than the run was trained on
  bool verifies_data = false; // reads all samples first, not a few
  bool goes_on = false;       // continues the job's newest unfinished run

  bool is_nothing() const { return job.empty() && resume.empty(); }
};

// `where`: the place of the files for the help text, such as " of the first host".
void add_asked_options(CLI::App& command, RunRequest&, const std::string& where = {});
[[noreturn]] void tell_that_nothing_is_asked();

} // namespace dlhost::cli
