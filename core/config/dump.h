// Writes a job as text: for the run's folder, for users who want to see the merged job, and for its hash.
#pragma once

#include <string>

#include "config/job.h"

namespace dlhost::config {

// The whole job as one file: no includes, no blocks, every option of core. Loading it from any folder gives the same
// job. `here`: the absolute folder that the job's path is relative to.
std::string to_toml(const Job&, const std::string& here);

// Different for jobs that train differently. Independent of file places, the run's name, and how includes, overrides,
// blocks, defaults and the order of keys made the job. 16 hexadecimal digits.
std::string job_hash(const Job&);

} // namespace dlhost::config
