// Reads the last lines of a growing file, newest first, from its last part only.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::record {

// Whole lines without line feeds; empty: no such file.
std::vector<std::string> last_lines(Disk&, const std::string& path);

} // namespace dlhost::record
