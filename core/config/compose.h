// Merges a job file with all its includes into one table. The file wins over its includes, and a later include over an
// earlier one: key by key, layers and blocks by their names.
#pragma once

#include <string>
#include <string_view>

#include <dlhost/host.h>
#include <dlhost/schema.h>

#include "config/problems.h"

namespace dlhost::config {

Table compose(Disk&, const std::string& path, Problems&);

// The folder part of a path, "." for a bare name; and a path joined to a folder, without "." and "..".
std::string folder_of(std::string_view path);
std::string join_path(const std::string& folder, const std::string& path);

} // namespace dlhost::config
