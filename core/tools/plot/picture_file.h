// A picture as a file: SVG as it is made, PNG and PDF by rsvg-convert.
#pragma once

#include <string>

#include <dlhost/host.h>

namespace dlhost::tools {

// Whether a file of that name can be written.
Status check_picture(const std::string& path);

Status write_picture(Disk&, const std::string& path, const std::string& svg);

} // namespace dlhost::tools
