// The last lines of a file that grows, newest first: its end is enough, however long it is.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::record {

// Whole lines without their ends; none where there is no such file.
std::vector<std::string> last_lines(Disk&, const std::string& path);

} // namespace dlhost::record
