// Writes a picture file: SVG directly, PNG and PDF by rsvg-convert.
#pragma once

#include <string>

#include <dlhost/host.h>

namespace dlhost::tools {

// Errors: a file of that name cannot be written.
Status check_picture(const std::string& path);

Status write_picture(Disk&, const std::string& path, const std::string& svg);

} // namespace dlhost::tools
