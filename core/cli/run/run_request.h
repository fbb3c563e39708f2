// What people ask for of a run, by whichever command begins it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace dlhost::cli {

struct RunRequest {
  std::string job, resume; // of the two at least one
  std::vector<std::string> set;
  bool profile = false;
  bool accepts_data = false;  // other than the run was trained on so far
  bool verifies_data = false; // all of it, not a few samples
  bool goes_on = false;       // with the job's newest run, if that has not come to its end

  bool is_nothing() const { return job.empty() && resume.empty(); }
};

// `where`: whose files these are, " of the first host", where it is not clear.
void add_asked_options(CLI::App& command, RunRequest&, const std::string& where = {});
[[noreturn]] void tell_that_nothing_is_asked();

} // namespace dlhost::cli
