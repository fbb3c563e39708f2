// The processes of this machine that have a file of the given name open. The kernel keeps this and forgets it when a
// process ends. Processes of other users are not seen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlhost::env {

struct Holder {
  int process = 0;
  std::string path; // of the file
};

// Sorted by path, then by process.
std::vector<Holder> holders_of(std::string_view file_name);

} // namespace dlhost::env
