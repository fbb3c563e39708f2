// Reads foreign names of params: from a job's [train.init_from], from a separate file, from the command line.
#pragma once

#include <string>

#include <dlhost/host.h>

#include "config/job_schema.h"
#include "config/problems.h"

namespace dlhost::config {

// `path`: the prefix of keys in messages.
Names names_of(const StartKeys&, const std::string& path, Problems&);

// A TOML file with the keys `rename`, `except` and `unused`.
Result<Names> load_names(Disk&, const std::string& path);

// Adds a rename from text such as "ours=theirs".
Status add_rename(Names&, const std::string& text);

} // namespace dlhost::config
