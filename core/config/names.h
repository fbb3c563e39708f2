// Reads how params are called elsewhere: from a job's [train.init_from], from a file of its own, from the command line.
#pragma once

#include <string>

#include <dlhost/host.h>

#include "config/job_schema.h"
#include "config/problems.h"

namespace dlhost::config {

// `path` stands in front of the keys in messages.
Names names_of(const StartKeys&, const std::string& path, Problems&);

// A TOML file with the keys `rename`, `except` and `unused`.
Result<Names> load_names(Disk&, const std::string& path);

// Adds "ours=theirs".
Status add_rename(Names&, const std::string& text);

} // namespace dlhost::config
