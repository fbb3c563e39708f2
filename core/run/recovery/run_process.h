// A process of a run, on one of its machines.
#pragma once

#include <string>

namespace dlhost::run {

struct RunProcess {
  std::string host; // as the run calls its machine
  int process = 0;
};

} // namespace dlhost::run
