// Which processes of this machine have a file of some name open: what the kernel knows of locks and who holds them, and
// forgets when they end. Processes of other users are not seen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlhost::env {

struct Holder {
  int process = 0;
  std::string path; // of the file
};

// By path, then by process.
std::vector<Holder> holders_of(std::string_view file_name);

} // namespace dlhost::env
