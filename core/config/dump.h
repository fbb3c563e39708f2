// A job written down again: for the run's folder, for people who ask what a job came to, and for its hash.
#pragma once

#include <string>

#include "config/job.h"

namespace dlhost::config {

// The whole job as one job file: no includes, no blocks, every option of core written out. Loading it again gives the
// same job, from whichever folder: `here` is the absolute path of the folder that the job's path is relative to.
std::string to_toml(const Job&, const std::string& here);

// Tells apart jobs that train differently; the same wherever the files lie, whatever the run is called, and however
// includes, overrides, blocks, defaults and the order of keys made up the job. 16 hexadecimal digits.
std::string job_hash(const Job&);

} // namespace dlhost::config
