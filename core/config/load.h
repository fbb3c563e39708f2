// From a job file to a Job: parse, compose what it includes, apply overrides, expand blocks, check everything against
// the schemas of core and of the plugins that it names. Called by the commands, on one task.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <dlhost/host.h>
#include <dlhost/schema.h>

#include "config/job.h"
#include "config/problems.h"

namespace dlhost::config {

// `overrides` are what stands behind each --set: "train.batch=32". The status of a failure has one line for each
// problem: "job.toml:12:3: layer 'fc1': unit: unknown option; did you mean 'units'? (known: ...)".
Result<Job> load(Disk&, const std::string& path, std::span<const std::string> overrides, SchemaSource&);

// The same for those who look on at what has problems: nothing where the file could not be read, else a job that holds
// what `problems` does not refuse, and defaults for the rest.
std::optional<Job> load(Disk&, const std::string& path, std::span<const std::string> overrides, SchemaSource&,
                        Problems&);

} // namespace dlhost::config
