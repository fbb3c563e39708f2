// From a job file to a Job: parses it, composes its includes, applies overrides, expands blocks, and checks everything
// against the schemas of core and of the job's plugins. Called by the commands. Thread: one.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <dlhost/host.h>
#include <dlhost/schema.h>

#include "config/job.h"
#include "config/problems.h"

namespace dlhost::config {

// `overrides`: the texts after each --set, such as "train.batch=32". Errors: one line for each problem: "job.toml:12:3:
// layer 'fc1': unit: unknown option; did you mean 'units'? (known: ...)".
Result<Job> load(Disk&, const std::string& path, std::span<const std::string> overrides, SchemaSource&);

// The same for callers that continue in spite of problems. None: the file could not be read; else a job with everything
// that `problems` does not refuse, and defaults for the rest.
std::optional<Job> load(Disk&, const std::string& path, std::span<const std::string> overrides, SchemaSource&,
                        Problems&);

} // namespace dlhost::config
