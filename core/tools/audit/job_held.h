// Checks the job that an audit reads against the jobs under which the ledger's attempts began.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "tools/audit/audit.h"

namespace dlhost::tools {

// The saved job of a run that is the newest attempt's; empty: none is. `jobs`: their files. `digest`: of the attempt.
std::string job_of_attempt(Disk&, std::span<const std::string> jobs, const std::string& digest);

// Adds to the faults: jobs that the ledger in `folder` names, and that are missing or changed there.
void look_for_jobs(Disk&, const std::string& folder, Audit&);

// The first differences between a job and the one that a ledger kept, in words.
std::string job_differences(Disk&, const std::string& job, const std::string& kept);

} // namespace dlhost::tools
