// A process of a run, and its machine.
#pragma once

#include <string>

namespace dlhost::run {

struct RunProcess {
  std::string host; // the run's name of its machine
  int process = 0;
};

} // namespace dlhost::run
