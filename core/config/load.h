// From a job file to a Job: parse, compose what it includes, apply overrides, expand blocks, check everything against
// the schemas of core and of the plugins that it names. Called by the commands, on one task.
#pragma once

#include <span>
#include <string>

#include <dlhost/host.h>
#include <dlhost/schema.h>

#include "config/job.h"

namespace dlhost::config {

// `overrides` are what stands behind each --set: "train.batch=32". The status of a failure has one line for each
// problem: "job.toml:12:3: layer 'fc1': unit: unknown option; did you mean 'units'? (known: ...)".
Result<Job> load(Disk&, const std::string& path, std::span<const std::string> overrides, SchemaSource&);

} // namespace dlhost::config
